// SPDX-License-Identifier: Apache-2.0
// Mlp: down(act(gate x) * up x), or without a gate down(act(up x)). Source: Shazeer 2020 (gated).
#pragma once

#include <vector>

#include "engine/model/layer_formats.h"
#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Intermediate size I, and whether there are biases.
struct MlpShape {
  std::int64_t inner = 0;
  bool bias = false;
};
/// Shape of the MLP of a layer without experts.
inline MlpShape mlp_shape(const ModelConfig& config) { return {config.intermediate_size, config.mlp_bias}; }

/// Formats of gate and up, and of down.
struct MlpFormats {
  MatrixForm in, out;
};
inline MlpFormats mlp_formats(const LayerFormats& layer) {
  return {layer.of(MatrixPart::mlp_in), layer.of(MatrixPart::mlp_out)};
}
inline MlpFormats expert_formats(const LayerFormats& layer) {
  return {layer.of(MatrixPart::expert_in), layer.of(MatrixPart::expert_out)};
}

/// Shapes: H hidden size. gate, up [I, H]; down [H, I].
class Mlp {
 public:
  static Result<Mlp> create(kernels::Backend& backend, const MlpFormats& formats, const ModelConfig& config,
                            const MlpShape& shape);
  static std::int64_t n_bytes(const kernels::Backend& backend, const MlpFormats& formats, const ModelConfig& config,
                              const MlpShape& shape);

  /// Requires: the MLP is gated.
  Linear& gate() { return gate_; }
  Linear& up() { return up_; }
  Linear& down() { return down_; }
  /// The matrices that the tensor of a role fills, also for roles of experts. Empty: the role is no matrix of an MLP.
  std::vector<Linear*> matrices_of(WeightRole role);
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const { return (is_gated_ ? gate_.n_bytes() : 0) + up_.n_bytes() + down_.n_bytes(); }

  /// delta [M, H] = MLP of the rows that `in` gives.
  void forward(kernels::Backend& backend, const kernels::HalfInput& in, const StepBuffers& step) const;

 private:
  bool is_gated_ = true;
  kernels::Activation activation_ = kernels::Activation::silu;
  Linear gate_, up_, down_;
};

}  // namespace lathe::engine
