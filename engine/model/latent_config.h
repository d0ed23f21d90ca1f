// SPDX-License-Identifier: Apache-2.0
// LatentConfig: sizes of multi-head latent attention, whose K and V are projections of one latent a token. Source:
// DeepSeek-AI 2024, DeepSeek-V2, section 2.1.
#pragma once

#include <cstdint>

namespace lathe::engine {

struct LatentConfig {
  std::int64_t kv_rank = 0;  ///< kv_lora_rank, the width of the latent of K and V; 0: no latent attention
  std::int64_t q_rank = 0;   ///< q_lora_rank, the width of the latent of Q; 0: Q is a projection of the hidden state
  std::int64_t qk_nope_head_dim = 0, qk_rope_head_dim = 0;  ///< values of a head of Q and K without and with RoPE
  std::int64_t v_dim = 0;                                   ///< v_head_dim
  bool has_bias = false;                                    ///< q_a_proj and kv_a_proj_with_mqa have biases

  bool operator==(const LatentConfig&) const = default;
  bool exists() const { return kv_rank > 0; }
  std::int64_t query_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  /// Values that the cache holds of a token, for K and V at once: first K's rotated values, then the latent.
  std::int64_t cached_dim() const { return qk_rope_head_dim + kv_rank; }
};

}  // namespace lathe::engine
