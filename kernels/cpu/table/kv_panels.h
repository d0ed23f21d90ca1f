// SPDX-License-Identifier: Apache-2.0
// KvPanels: the position of K and V of a token inside a block of the paged cache.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/op_table.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// Calls body(T{}), T being the element type.
template <class Body>
auto with_kv_type(KvType type, const Body& body) {
  switch (type) {
    case KvType::f16: return body(F16{});
    case KvType::bf16: return body(Bf16{});
    case KvType::i8: return body(I8{});
    case KvType::e4m3: return body(E4m3{});
    case KvType::e5m2: return body(E5m2{});
    case KvType::f32: break;
  }
  return body(float{});
}

/// Size of the scale of one head of one token, in K and likewise in V. Units: bytes.
template <class T>
constexpr std::int64_t kScaleBytes = 0;
template <>
constexpr std::int64_t kScaleBytes<I8> = sizeof(float);

/// Layout of a block: for each KV head, K in panels of 16 tokens [head_dim][16], V [block_size][head_dim], and the scales of
/// K and V, [block_size] each, if the type has scales. K is transposed so that scores of consecutive tokens are lanes of one
/// vector and a panel is one stream whatever the block size; the last panel of a block holds the remaining tokens.
/// Units: bytes, unless a name says otherwise.
template <class T>
struct KvPanels {
  std::int64_t n_kv_heads;
  std::int64_t head_dim;    ///< elements
  std::int64_t block_size;  ///< tokens

  constexpr std::int64_t half_head() const { return head_dim * block_size * static_cast<std::int64_t>(sizeof(T)); }
  constexpr std::int64_t scales() const { return block_size * kScaleBytes<T>; }
  constexpr std::int64_t head() const { return 2 * (half_head() + scales()); }
  constexpr std::int64_t block() const { return n_kv_heads * head(); }
  /// Tokens of the panel that contains the token at an offset in the block.
  constexpr std::int64_t k_panel_tokens(std::int64_t offset) const {
    const std::int64_t left = block_size - offset / kPanelColumns * kPanelColumns;
    return left < kPanelColumns ? left : kPanelColumns;
  }
  /// Offset of a token's first element from k_begin(); its elements are k_panel_tokens() apart. Units: elements.
  constexpr std::int64_t k_of_token(std::int64_t offset) const {
    const std::int64_t in_panel = offset % kPanelColumns;
    return (offset - in_panel) * head_dim + in_panel;
  }
  constexpr std::int64_t k_begin(std::int64_t block_id, std::int64_t kv_head) const {
    return block_id * block() + kv_head * head();
  }
  constexpr std::int64_t v_begin(std::int64_t block_id, std::int64_t kv_head) const {
    return k_begin(block_id, kv_head) + half_head();
  }
  constexpr std::int64_t k_scales_begin(std::int64_t block_id, std::int64_t kv_head) const {
    return v_begin(block_id, kv_head) + half_head();
  }
  constexpr std::int64_t v_scales_begin(std::int64_t block_id, std::int64_t kv_head) const {
    return k_scales_begin(block_id, kv_head) + scales();
  }
};

}  // namespace
}  // namespace lathe::kernels
