// SPDX-License-Identifier: Apache-2.0
// Attention: grouped-query attention over a paged KV cache. One matrix holds Q, K and V, so that a row of activations is
// read once.
#pragma once

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
  const RopeTable* rope;  ///< null: no RoPE
  const kernels::KvLayer& kv;
  const KvRows& rows;
};

/// Shapes: H hidden size, d head size. qkv [(n_heads + 2 n_kv_heads) d, H]: rows of Q, then K, then V; out [H, n_heads d];
/// norms of Q and K by ModelConfig::qk_norm; gate [n_attention_gates, H]; sinks [n_heads].
class Attention {
 public:
  Attention(const LayerFormats& formats, const ModelConfig& config, const LayerConfig& layer);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.qkv_, self.out_, self.q_norm_, self.k_norm_, self.gate_, self.sinks_);
  }

  Linear& qkv() { return qkv_; }
  Linear& out() { return out_; }
  Linear& gate() { return gate_; }
  NormLayer& q_norm() { return q_norm_; }
  NormLayer& k_norm() { return k_norm_; }
  kernels::TensorView sinks() { return sinks_.view(); }

  /// delta [M, H] = attention of the rows that `in` gives; their K and V are written to the cache.
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::HalfInput& in,
               const StepBuffers& step) const;

 private:
  kernels::QkvForm qkv_form(const AttentionContext& context) const;
  /// As Backend::project_qkv(), for norms that follow RoPE.
  void project_rotated_first(kernels::Backend& backend, const AttentionContext& context, const kernels::HalfInput& in,
                             const StepBuffers& step) const;

  Linear qkv_, out_, gate_;  ///< gate_ is absent if the output has no gates
  NormLayer q_norm_, k_norm_;
  HostTensor sinks_;  ///< AttentionForm takes them in host memory
};

}  // namespace lathe::engine
