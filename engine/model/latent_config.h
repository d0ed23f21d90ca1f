// SPDX-License-Identifier: Apache-2.0
// LatentConfig: attention whose K and V come from one short vector a token. Source: DeepSeek-AI 2024, DeepSeek-V2,
// section 2.1.
#pragma once

#include <cstdint>

namespace lathe::engine {

struct LatentConfig {
  std::int64_t kv_rank = 0;  ///< width of the short vector of K and V; 0: attention is not of this kind
  std::int64_t q_rank = 0;   ///< of the one of Q; 0: Q comes from the hidden state
  std::int64_t qk_nope_head_dim = 0, qk_rope_head_dim = 0;  ///< numbers of a head of Q and K that do not turn, and that do
  std::int64_t v_dim = 0;                                   ///< of a head of V
  bool has_bias = false;                                    ///< behind the products that make the short vectors

  bool operator==(const LatentConfig&) const = default;
  bool exists() const { return kv_rank > 0; }
  std::int64_t query_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  /// What the cache holds of a token, K and V at once: the turned numbers, then the short vector.
  std::int64_t cached_dim() const { return qk_rope_head_dim + kv_rank; }
};

}  // namespace lathe::engine
