// SPDX-License-Identifier: Apache-2.0
// Embedding: from token ids to the residual stream. A row of the table is scaled, projected, added to learned positions and
// token types, and normalised, each as far as the model has it.
#pragma once

#include "engine/model/architecture.h"
#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/model_input.h"
#include "engine/model/layers/norm.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Shapes: V vocabulary, E embedding size, H hidden size, P learned positions, T token types. table [V, E], positions [P,
/// H], types [T, H]; in [H, E].
class Embedding {
 public:
  /// `dtype`: type of the table, the positions and the token types; `format`: of the projection. Errors: resource_exhausted.
  static Result<Embedding> create(kernels::Backend& backend, const ModelConfig& config, kernels::Dtype dtype,
                                  kernels::WeightFormat format);
  /// Units: bytes that create() takes.
  static std::int64_t n_bytes(const kernels::Backend& backend, const ModelConfig& config, kernels::Dtype dtype,
                              kernels::WeightFormat format);

  /// Packs one tensor, as Decoder::accept does. False: the tensor does not belong to the embedding.
  bool accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source);
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const;

  /// Fills step.residual; step.delta is scratch space.
  void forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const StepBuffers& step) const;

 private:
  DeviceTensor table_, positions_, types_;
  std::optional<Linear> in_;
  NormLayer norm_;
};

}  // namespace lathe::engine
