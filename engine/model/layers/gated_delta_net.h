// SPDX-License-Identifier: Apache-2.0
// GatedDeltaNet: a recurrent layer in place of attention, whose matrix of each head learns values by their keys and forgets
// them. Source: Yang et al. 2024, Gated Delta Networks; Hugging Face transformers, Qwen3NextGatedDeltaNet.
#pragma once

#include "engine/model/layer_formats.h"
#include "engine/model/layers/activations.h"
#include "engine/model/layers/attention.h"
#include "engine/model/layers/device_tensor.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/norm.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Shapes (DeltaNetConfig): H hidden size, n heads. in [qkv_size + v_size, H]: rows of Q, K, V, then of the gate z; gates
/// [2 n, H]: rows of b, then of a; conv [taps, qkv_size]; out [H, v_size]. The gates, the convolution and all vectors stay
/// f32, whatever the weight format: what they round adds up in the state.
class GatedDeltaNet {
 public:
  GatedDeltaNet(const LayerFormats& formats, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.in_, self.gates_, self.conv_, self.decay_rate_, self.dt_bias_, self.norm_, self.out_);
  }

  Linear& in() { return in_; }
  Linear& out() { return out_; }
  /// Packs one tensor, as Decoder::accept does. False: the role does not belong to the layer.
  bool accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source);

  /// delta [M, H] = the layer's output for the rows x [M, H]; the states of their sequences advance.
  /// Requires: a backend with recurrent_operations().
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
               const StepBuffers& step) const;

 private:
  void load_by_key_head(kernels::Backend& backend, const DeltaNetConfig& net, const kernels::TensorView& source);
  void load_decay_rate(kernels::Backend& backend, const kernels::TensorView& a_log);

  Linear in_, gates_;
  DeviceTensor conv_, decay_rate_, dt_bias_;  ///< decay_rate is -exp(A_log)
  NormLayer norm_;
  Linear out_;
};

}  // namespace lathe::engine
