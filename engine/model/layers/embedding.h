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

/// A factor of embeddings, rounded to the type of their table.
float rounded_multiplier(double factor, kernels::Dtype dtype);

/// Shapes: V vocabulary, E embedding size, H hidden size, P learned positions, T token types. table [V, E], positions [P,
/// H], types [T, H]; in [H, E].
class Embedding {
 public:
  Embedding() = default;
  /// Plans the embedding; allocated() gives it memory. `dtype`: type of the table, the positions and the token types;
  /// `format`: of the projection.
  Embedding(const ModelConfig& config, kernels::Dtype dtype, kernels::WeightFormat format);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.table_, self.positions_, self.types_, self.in_, self.norm_);
  }

  /// Packs one tensor, as Decoder::accept does. False: the tensor does not belong to the embedding.
  bool accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source);

  /// Fills step.residual; step.delta is scratch space.
  void forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const StepBuffers& step) const;

 private:
  DeviceTensor table_, positions_, types_;
  std::optional<Linear> in_;
  NormLayer norm_;
};

}  // namespace lathe::engine
