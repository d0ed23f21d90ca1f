// SPDX-License-Identifier: Apache-2.0
// LatentAttention: attention over a cache of latents. Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1.
// Equation: with c the latent of a token, k = W_k c and v = W_v c: q k^T = (W_k^T q) c^T, and sum w v = W_v sum w c. So Q is
// projected to the width of c, all heads attend to one KV head whose K and V are c, and their sums are projected to V.
#pragma once

#include <vector>

#include "engine/model/architecture.h"
#include "engine/model/layers/attention.h"

namespace lathe::engine {

/// Shapes: H hidden size, R_q and R_kv the ranks, p = qk_nope_head_dim, t = qk_rope_head_dim, d_v = v_head_dim. Files: q
/// [heads (p + t), R_q or H], kv_a [R_kv + t, H], kv_b [heads (p + d_v), R_kv] or for each head k_b [R_kv, p] and v_b [d_v,
/// R_kv], o [H, heads d_v]. In memory the t values with RoPE come first.
class LatentAttention {
 public:
  LatentAttention(kernels::WeightFormat format, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.q_a_proj_, self.q_, self.kv_a_proj_, self.out_, self.k_of_head_, self.v_of_head_, self.q_norm_,
          self.kv_norm_);
  }

  /// Packs one tensor; `head`: for roles that each head has. False: the role does not belong to attention.
  bool accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source,
              std::int64_t head);

  /// delta [M, H] = attention of the rows x [M, H]; their latents are written to the cache.
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
               const StepBuffers& step) const;

 private:
  void load_queries(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& source);
  void load_heads(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& source);
  /// Leaves the queries [M, heads (t + p)], with RoPE applied, in step.heads.
  void make_queries(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
                    const StepBuffers& step) const;

  std::optional<Linear> q_a_proj_;  ///< [R_q, H]
  NormLayer q_norm_, kv_norm_;
  Linear q_, kv_a_proj_, out_;
  std::vector<Linear> k_of_head_;  ///< W_k^T: [R_kv, p] each
  std::vector<Linear> v_of_head_;  ///< [d_v, R_kv] each
};

}  // namespace lathe::engine
