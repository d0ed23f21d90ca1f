// SPDX-License-Identifier: Apache-2.0
// Experts: a mixture of MLPs; a router chooses a few of them for each row. Source: Shazeer et al. 2017; Jiang et al. 2024.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/layers/mlp.h"
#include "engine/model/layers/router.h"

namespace lathe::engine {

/// Shapes: E experts, H hidden size. The router [E, H] stays f32: a rounded one would choose others.
class Experts {
 public:
  static Result<Experts> create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);

  Linear& router() { return router_; }
  const kernels::TensorView& choice_bias() const { return choice_bias_.view(); }
  Mlp& expert(std::int64_t i) { return experts_[static_cast<std::size_t>(i)]; }
  /// Requires: the model has them.
  Mlp& shared() { return *shared_; }
  Linear& shared_gate() { return *shared_gate_; }
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const;

  /// delta [M, H] = what the experts make of the rows x [M, H]. A row's sum has the order of its experts' numbers, whatever
  /// other rows there are.
  void forward(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& x,
               const StepBuffers& step) const;

 private:
  void choose(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step) const;
  void add_shared(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const;

  Linear router_;
  DeviceTensor choice_bias_;
  std::vector<Mlp> experts_;
  std::optional<Mlp> shared_;
  std::optional<Linear> shared_gate_;
};

}  // namespace lathe::engine
