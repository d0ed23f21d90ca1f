// SPDX-License-Identifier: Apache-2.0
// Where K and V of a token lie inside a block of the paged cache.
#pragma once

#include <cstdint>

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// A block holds, KV head after KV head, K [head_dim][block_size] and then V [block_size][head_dim]. K is transposed so that
/// scores of consecutive tokens are lanes of one vector. Units: elements.
struct KvLayout {
  std::int64_t n_kv_heads;
  std::int64_t head_dim;
  std::int64_t block_size;

  constexpr std::int64_t half_head() const { return head_dim * block_size; }
  constexpr std::int64_t block() const { return n_kv_heads * 2 * half_head(); }
  constexpr std::int64_t k_begin(std::int64_t block_id, std::int64_t kv_head) const {
    return block_id * block() + kv_head * 2 * half_head();
  }
  constexpr std::int64_t v_begin(std::int64_t block_id, std::int64_t kv_head) const {
    return k_begin(block_id, kv_head) + half_head();
  }
};

}  // namespace
}  // namespace lathe::kernels
