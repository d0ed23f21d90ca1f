// SPDX-License-Identifier: Apache-2.0
// Divides a context into windows and parts, and lays out the work memory of an attention item.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/op_table.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// Tokens of a window, which attention processes together. Every row of every batch sees the same windows [0, 64), [64,
/// 128)... of its context, so its result does not depend on the rest of the batch.
constexpr int kWindowTokens = 64;
/// Tokens of a part. Every context is cut into parts at the same positions; each part is summed up by itself and then added
/// to those before it. So threads may share a context, and whether they do changes no bit.
constexpr int kPartTokens = 512;
/// Most pairs that an instruction set multiplies at a time. A pair is one query head of one row.
constexpr int kMaxAttentionTileRows = 8;

constexpr std::int64_t whole_panels(std::int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns * kPanelColumns; }

/// The first token that a row sees. window: tokens, including the row's own; 0: all.
constexpr std::int32_t first_visible(std::int32_t position, std::int32_t window) {
  return window > 0 && position >= window ? position + 1 - window : 0;
}

/// Position of a row of an item; rows are counted from the item's first.
constexpr std::int64_t position_of(const AttentionItem& item, std::int64_t row) { return item.position + row * item.step; }
/// End of the tokens that the last row of an item sees, counted without regard to the window.
constexpr std::int64_t n_visible_to(const AttentionItem& item) { return position_of(item, item.n_rows - 1) + 1; }

/// Running sums of the online softmax for some pairs.
struct PairSums {
  float* reference;  ///< [pair]: close to the largest score
  float* weight;     ///< [pair]: sum of the weights exp(score - reference)
  float* sums;       ///< [pair][whole panels of head_dim]: weighted sums of V
};
/// Units: floats of all three arrays.
constexpr std::int64_t pair_sums_floats(std::int64_t n_pairs, std::int64_t head_dim) {
  return 2 * whole_panels(n_pairs) + n_pairs * whole_panels(head_dim);
}
constexpr PairSums pair_sums_at(float* memory, std::int64_t n_pairs) {
  return {.reference = memory, .weight = memory + whole_panels(n_pairs), .sums = memory + 2 * whole_panels(n_pairs)};
}

/// Work memory of a thread.
struct AttentionScratch {
  float* k;         ///< [panel of tokens of a window][head_dim][16]
  float* v;         ///< [panel of head_dim][token of a window][16]
  float* scores;    ///< [pair of a tile][kWindowTokens]
  float* k_scales;  ///< [kWindowTokens], if the cache has scales; 0 after the last token
  float* v_scales;
  float* q;        ///< tile after tile, [head_dim][pair]
  PairSums total;  ///< sums of all parts so far
  PairSums part;   ///< sums of the current part, unless it is the first
};
/// Units: floats, in whole cache lines, so that threads share none.
constexpr std::int64_t attention_scratch_floats(std::int64_t n_pairs, std::int64_t head_dim) {
  const std::int64_t windows = kWindowTokens * (head_dim + whole_panels(head_dim) + kMaxAttentionTileRows + 2);
  return windows + whole_panels(n_pairs * head_dim) + 2 * whole_panels(pair_sums_floats(n_pairs, head_dim));
}
constexpr AttentionScratch divide_scratch(float* memory, std::int64_t n_pairs, std::int64_t head_dim) {
  AttentionScratch parts{};
  parts.k = memory;
  parts.v = parts.k + kWindowTokens * head_dim;
  parts.scores = parts.v + kWindowTokens * whole_panels(head_dim);
  parts.k_scales = parts.scores + kMaxAttentionTileRows * kWindowTokens;
  parts.v_scales = parts.k_scales + kWindowTokens;
  parts.q = parts.v_scales + kWindowTokens;
  float* const sums = parts.q + whole_panels(n_pairs * head_dim);
  parts.total = pair_sums_at(sums, n_pairs);
  parts.part = pair_sums_at(sums + whole_panels(pair_sums_floats(n_pairs, head_dim)), n_pairs);
  return parts;
}

}  // namespace
}  // namespace lathe::kernels
