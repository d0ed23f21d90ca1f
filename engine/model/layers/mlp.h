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

/// Intermediate size I, whether there are biases, and LayerConfig::activation_sparsity.
struct MlpShape {
  std::int64_t inner = 0;
  bool bias = false;
  double sparsity = 0;
};
/// Shape of the MLP of a layer, besides experts.
inline MlpShape mlp_shape(const ModelConfig& config, const LayerConfig& layer) {
  return {config.inner_of(layer), config.mlp_bias, layer.activation_sparsity};
}

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
  Mlp(const MlpFormats& formats, const ModelConfig& config, const MlpShape& shape);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.gate_, self.up_, self.down_);
  }

  /// Requires: the MLP is gated.
  Linear& gate() { return gate_; }
  Linear& up() { return up_; }
  Linear& down() { return down_; }
  /// The matrices that the tensor of a role fills, also for roles of experts. Empty: the role is no matrix of an MLP.
  std::vector<Linear*> matrices_of(WeightRole role);

  /// The weights as operations take them.
  kernels::MlpWeights weights() const;
  /// delta [M, H] = MLP of the rows that `in` gives.
  void forward(kernels::Backend& backend, const kernels::HalfInput& in, const StepBuffers& step) const;

 private:
  /// Gates below mean + cutoff_ standard deviations of their row become 0, the others lose that much.
  void forward_sparse(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const;

  bool is_gated_;
  double cutoff_ = 0;  ///< 0: all gates count
  kernels::Activation activation_;
  Linear gate_, up_, down_;  ///< gate_ is absent if the MLP is not gated
};

}  // namespace lathe::engine
