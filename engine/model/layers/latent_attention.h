// SPDX-License-Identifier: Apache-2.0
// LatentAttention: attention over a cache of short vectors. Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1.
// With c the short vector of a token, k = W_k c and v = W_v c: q k^T = (W_k^T q) c^T, and sum w v = W_v sum w c. So Q is
// brought to the width of c, all heads attend to one KV head whose K and V are c, and what they sum up is brought to V.
#pragma once

#include <vector>

#include "engine/model/architecture.h"
#include "engine/model/layers/attention.h"

namespace lathe::engine {

/// Shapes: H hidden size, R_q and R_kv the ranks, p + t numbers of a head (plain, turned), d_v of V. Files: q [heads (p +
/// t), R_q or H], kv_a [R_kv + t, H], kv_b [heads (p + d_v), R_kv] or of each head k_b [R_kv, p] and v_b [d_v,
/// R_kv], o [H, heads d_v]. Turned numbers come first in memory.
class LatentAttention {
 public:
  static Result<LatentAttention> create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);

  /// Puts one tensor in its place; `head`: of roles that each has by itself. False: it is not of attention.
  bool accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source,
              std::int64_t head);
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const;

  /// delta [M, H] = attention of the rows x [M, H], whose short vectors go into the cache.
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
               const StepBuffers& step) const;

 private:
  void load_queries(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& source);
  void load_heads(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& source);
  /// Leaves the queries, [M, heads (t + p)] and turned, in step.heads.
  void make_queries(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
                    const StepBuffers& step) const;

  std::optional<Linear> q_a_proj_;  ///< [R_q, H]
  NormLayer q_norm_, kv_norm_;
  Linear q_, kv_a_proj_, out_;
  std::vector<Linear> k_of_head_;  ///< W_k^T: [R_kv, p] each
  std::vector<Linear> v_of_head_;  ///< [d_v, R_kv] each
};

}  // namespace lathe::engine
