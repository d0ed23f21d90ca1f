// SPDX-License-Identifier: Apache-2.0
// GatedMlp: down(silu(gate x) * up x). Source: Shazeer 2020 (SwiGLU).
#pragma once

#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Shapes: H hidden size, I intermediate size. gate, up [I, H]; down [H, I].
class GatedMlp {
 public:
  static Result<GatedMlp> create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);

  Linear& gate() { return gate_; }
  Linear& up() { return up_; }
  Linear& down() { return down_; }
  std::int64_t n_bytes() const { return gate_.n_bytes() + up_.n_bytes() + down_.n_bytes(); }

  /// delta [M, H] = MLP of the rows `normed` [M, H].
  void forward(kernels::Backend& backend, const StepBuffers& step) const;

 private:
  Linear gate_, up_, down_;
};

}  // namespace lathe::engine
