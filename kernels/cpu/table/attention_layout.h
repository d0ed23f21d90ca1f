// SPDX-License-Identifier: Apache-2.0
// What attention divides a context into, and what an item keeps in work memory.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/op_table.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// Tokens that attention looks at together. Every row of every batch sees the same windows [0, 64), [64, 128)... of its
/// context: that is what makes its result independent of its company.
constexpr int kWindowTokens = 64;
/// Every context is cut at the same places into parts, each summed up by itself, then added to those before it. So threads
/// may share a context, and whether they do changes no bit.
constexpr int kPartTokens = 512;
/// No instruction set multiplies more pairs at a time. A pair is one query head of one row.
constexpr int kMaxAttentionTileRows = 8;

constexpr std::int64_t whole_panels(std::int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns * kPanelColumns; }

/// The first token that a row sees. window: tokens, itself included; 0: all.
constexpr std::int32_t first_visible(std::int32_t position, std::int32_t window) {
  return window > 0 && position >= window ? position + 1 - window : 0;
}

/// Position of a row of an item, counted from its first.
constexpr std::int64_t position_of(const AttentionItem& item, std::int64_t row) { return item.position + row * item.step; }
/// Tokens that the last row of an item sees, and all that no window hides.
constexpr std::int64_t n_visible_to(const AttentionItem& item) { return position_of(item, item.n_rows - 1) + 1; }

/// What pairs have summed up over some tokens.
struct PairSums {
  float* reference;  ///< [pair]: near the largest of the scores
  float* weight;     ///< [pair]: sum of the weights exp(score - reference)
  float* sums;       ///< [pair][whole panels of head_dim]: weighted sums of V
};
/// Units: floats, of the three.
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
  float* k_scales;  ///< [kWindowTokens], where the cache has some; 0 behind the last token
  float* v_scales;
  float* q;        ///< tile after tile, [head_dim][pair]
  PairSums total;  ///< of all parts so far
  PairSums part;   ///< of the part that is being summed up, unless it is the first
};
/// Units: floats, in whole cache lines: threads share none.
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
