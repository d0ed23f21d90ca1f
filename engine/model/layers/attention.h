// SPDX-License-Identifier: Apache-2.0
// Attention: grouped-query attention over a paged KV cache. One matrix holds Q, K and V, so that a row of activations is
// read once.
#pragma once

#include <optional>
#include <vector>

#include "engine/model/layer_formats.h"
#include "engine/model/layers/activations.h"
#include "engine/model/layers/host_tensor.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/model_input.h"
#include "engine/model/layers/norm.h"
#include "engine/model/layers/rope_table.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Inputs of one layer's attention, in addition to the rows of a step.
struct AttentionContext {
  const ModelConfig& config;
  const LayerConfig& layer;
  const ModelInput& input;
  const RopeTable* rope;       ///< null: no RoPE
  const kernels::KvLayer& kv;  ///< of layers of attention
  const KvRows& rows;
  kernels::StateLayer states{};       ///< of recurrent layers
  kernels::TensorView token_input{};  ///< [M, P]: the per-layer embeddings of the rows for this layer, or without data
};

/// Shapes: H hidden size, d head size. qkv [(n_heads + 2 n_kv_heads) d, H]: rows of Q, then K, then V, as far as the layer
/// has them; out [H, n_heads d]; norms of Q and K by ModelConfig::qk_norm; sinks [n_heads]; ones [d], the weight of V's
/// norm; gate [n_heads d, H] if ModelConfig::has_output_gate, [n_attention_gates, H] where the gate has a tensor.
class Attention {
 public:
  Attention(const LayerFormats& formats, const ModelConfig& config, const LayerConfig& layer);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.qkv_, self.out_, self.q_norm_, self.k_norm_, self.sinks_, self.v_norm_, self.gate_);
  }

  Linear& qkv() { return qkv_; }
  Linear& out() { return out_; }
  /// Requires: the output has gates.
  Linear& gate() { return *gate_; }
  /// The matrices that the tensor of Q fills: one, or two where it has the rows of the gate too.
  std::vector<Linear*> of_queries() {
    return has_gated_queries_ ? std::vector<Linear*>{&qkv_, &*gate_} : std::vector<Linear*>{&qkv_};
  }
  /// Loads rows of Q, head after head, each followed by those of its gate. Requires: has_output_gate.
  void load_gated_queries(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& weight);
  void load_gated_query_bias(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& bias);
  NormLayer& q_norm() { return q_norm_; }
  NormLayer& k_norm() { return k_norm_; }
  kernels::TensorView sinks() { return sinks_.view(); }

  /// delta [M, H] = attention of the rows that `in` gives; their K and V are written to the cache.
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::HalfInput& in,
               const StepBuffers& step) const;

 private:
  kernels::QkvForm qkv_form(const AttentionContext& context) const;
  /// As Backend::project_qkv(), for norms that follow RoPE.
  void project_rotated_first(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
                             const StepBuffers& step) const;
  /// Projects without K and V, or with a form of V that Backend::project_qkv() does not have.
  void project(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
               const StepBuffers& step) const;
  kernels::AttentionForm form(const AttentionContext& context) const;

  Linear qkv_, out_;
  std::optional<Linear> gate_;      ///< of attention's output
  bool has_gated_queries_ = false;  ///< files have the rows of the gate with those of Q
  NormLayer q_norm_, k_norm_;
  UnitNorm v_norm_;
  HostTensor sinks_;  ///< AttentionForm takes them in host memory
};

}  // namespace lathe::engine
