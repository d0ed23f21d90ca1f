// SPDX-License-Identifier: Apache-2.0
// Experts: a mixture of MLPs; a router chooses a few of them for each row. Source: Shazeer et al. 2017; Jiang et al. 2024.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/layers/mlp.h"
#include "engine/model/layers/router.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Shapes: E experts, H hidden size. The router [E, H] stays f32: a rounded one would choose others.
class Experts {
 public:
  static Result<Experts> create(kernels::Backend& backend, const LayerFormats& formats, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, const LayerFormats& formats, const ModelConfig& config);

  /// Puts one tensor in its place, as Decoder::accept. False: it is none of these.
  bool accept(kernels::Backend& backend, WeightRole role, std::int64_t expert, const kernels::TensorView& source);
  /// As Mlp's, of that expert or of the one that every row has.
  std::vector<Linear*> matrices_of(WeightRole role, std::int64_t expert);
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const;

  /// delta [M, H] = what the experts make of the rows x [M, H]. A row's sum has the order of its experts' numbers, whatever
  /// other rows there are.
  void forward(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& x,
               const StepBuffers& step) const;

 private:
  bool accept_expert(kernels::Backend& backend, WeightRole role, Mlp& expert, const kernels::TensorView& source);
  void choose(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step) const;
  void add_shared(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const;

  Linear router_;
  DeviceTensor score_correction_bias_;
  std::vector<Mlp> experts_;
  std::optional<Mlp> shared_;
  std::optional<Linear> shared_gate_;
};

}  // namespace lathe::engine
