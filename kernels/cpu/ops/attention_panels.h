// SPDX-License-Identifier: Apache-2.0
// Attention of many pairs with a window of tokens: K and V are widened to f32 panels once, and all tiles of pairs read the
// panels.
#pragma once

#include "kernels/cpu/ops/attention_pairs.h"
#include "kernels/cpu/table/kv_panels.h"

namespace lathe::kernels {
namespace {

/// Rows of a tile. With 6 rows an AVX-512 tile takes the four panels of a window, or of 64 elements of a head, at once; with
/// 8 rows one panel would remain.
template <class V>
constexpr int panel_tile_rows() {
  return V::kLanes == 16 ? 6 : max_tile_rows<V>();
}

/// Widens n elements to f32; n is at most the columns of a panel. Whole panels, the usual case, need no loop at run time.
template <class V, class T>
void widen(float* out, const T* in, std::int64_t n) {
  if (n == kPanelColumns) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanelColumns; i += V::kLanes) V::store(out + i, V::load(in + i));
    return;
  }
  for (std::int64_t i = 0; i < n; i += V::kLanes) V::store_n(out + i, V::load_n(in + i, n - i), n - i);
}

/// Copies the scales of n tokens of a block, beginning at an offset, to the scales of a window. Most types have no scales.
template <class T>
void copy_scales(const AttentionArgs&, const KvPanels<T>&, std::int64_t, std::int32_t, std::int64_t, std::int64_t, float*,
                 float*) {}
template <>
inline void copy_scales<I8>(const AttentionArgs& args, const KvPanels<I8>& layout, std::int64_t block_id,
                            std::int32_t kv_head, std::int64_t offset, std::int64_t n, float* k_out, float* v_out) {
  const auto* k = reinterpret_cast<const float*>(args.kv + layout.k_scales_begin(block_id, kv_head)) + offset;
  const auto* v = reinterpret_cast<const float*>(args.kv + layout.v_scales_begin(block_id, kv_head)) + offset;
  for (std::int64_t i = 0; i < n; ++i) {
    k_out[i] = k[i];
    v_out[i] = v[i];
  }
}

/// Clears the scales after the last token of a window: those tokens have weight 0, and 0 times old memory must not be NaN.
template <class T>
void clear_scales_behind(std::int64_t n_tokens, const AttentionScratch& scratch) {
  if constexpr (kScaleBytes<T> > 0) {
    for (std::int64_t t = n_tokens; t < kWindowTokens; ++t) scratch.k_scales[t] = scratch.v_scales[t] = 0;
  }
}

/// Clears V of one token after an odd number of tokens: weighted sums take tokens in pairs, the added token has weight 0,
/// and 0 times old memory must not be NaN.
inline void clear_last_pair(const AttentionShape& s, std::int64_t n_tokens, const AttentionScratch& scratch) {
  if (n_tokens % 2 == 0) return;
  for (std::int64_t d = 0; d < s.head_dim; d += kPanelColumns) {
    for (std::int64_t i = 0; i < kPanelColumns; ++i) scratch.v[d * kWindowTokens + n_tokens * kPanelColumns + i] = 0;
  }
}

/// Copies the tokens of a window to panels, as f32 without their scales.
template <class V, class T>
void load_window(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, const TokenWindow& window,
                 const AttentionScratch& scratch) {
  const KvPanels<T> layout{args.n_kv_heads, args.head_dim, args.block_size};
  const std::int32_t* block_table = args.block_tables + item.seq * args.max_blocks;
  for (std::int64_t t = 0; t < window.n_tokens;) {
    const std::int64_t block_id = block_table[(window.first + t) / args.block_size];
    const std::int64_t offset = (window.first + t) % args.block_size;
    const std::int64_t in_panel = t % kPanelColumns;
    const std::int64_t stride = layout.k_panel_tokens(offset);
    const std::int64_t in_both = min_of(stride - offset % kPanelColumns, kPanelColumns - in_panel);
    const std::int64_t n = min_of(in_both, window.n_tokens - t);
    copy_scales<T>(args, layout, block_id, item.kv_head, offset, n, scratch.k_scales + t, scratch.v_scales + t);
    const T* k = reinterpret_cast<const T*>(args.kv + layout.k_begin(block_id, item.kv_head)) + layout.k_of_token(offset);
    float* k_out = scratch.k + (t - in_panel) * s.head_dim + in_panel;
    for (std::int64_t d = 0; d < s.head_dim; ++d) widen<V>(k_out + d * kPanelColumns, k + d * stride, n);
    const T* v = reinterpret_cast<const T*>(args.kv + layout.v_begin(block_id, item.kv_head)) + offset * s.head_dim;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t d = 0; d < s.head_dim; d += kPanelColumns) {
        widen<V>(scratch.v + d * kWindowTokens + (t + i) * kPanelColumns, v + i * s.head_dim + d,
                 min_of(kPanelColumns, s.head_dim - d));
      }
    }
    t += n;
  }
  clear_scales_behind<T>(window.n_tokens, scratch);
  clear_last_pair(s, window.n_tokens, scratch);
}

/// Attends from a tile of pairs to the window: scores, weights, weighted sums.
template <class V, class T>
void attend_panel_tile(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t tile,
                       const TokenWindow& window, const AttentionScratch& scratch, const PairSums& sums) {
  using ScoreStep = MultiplyAdd<V, SplitWeights<V, float>, PackedX>;
  using SumStep = MultiplyAdd<V, SplitWeights<V, float>, StridedX<kWindowTokens>>;
  const std::int64_t begin = first_row(s.tiling, tile);
  const std::int64_t n = rows_of(s.tiling, tile);
  const std::int64_t group = panels_for<V>(static_cast<int>(n));
  const std::int64_t n_panels = div_up(window.n_tokens, kPanelColumns);
  for (std::int64_t p = 0; p < n_panels; p += group) {
    const auto* k = reinterpret_cast<const std::byte*>(scratch.k + p * kPanelColumns * s.head_dim);
    multiply_tile<ScoreStep>(n, min_of(group, n_panels - p),
                             {.x = scratch.q + begin * s.head_dim,
                              .weights = k,
                              .panel_bytes = kPanelColumns * s.head_dim * static_cast<std::int64_t>(sizeof(float)),
                              .n_pairs = s.head_dim / 2,
                              .out = scratch.scores + p * kPanelColumns,
                              .out_stride = kWindowTokens,
                              .n_columns = kWindowTokens,
                              .continues = false,
                              .bias = nullptr,
                              .ahead = nullptr,  // everything is in the cache
                              .ahead_panel_bytes = 0,
                              .next_out = scratch.scores,
                              .n_ahead = 0,
                              .expanded = nullptr});
  }
  if constexpr (kScaleBytes<T> > 0) scale_tokens<V>(scratch.scores, n, scratch.k_scales);
  update_softmax<V>(args, item, s, begin, n, window, scratch.scores, sums);
  if constexpr (kScaleBytes<T> > 0) scale_tokens<V>(scratch.scores, n, scratch.v_scales);
  const std::int64_t v_panels = s.v_columns / kPanelColumns;
  for (std::int64_t p = 0; p < v_panels; p += group) {
    const auto* v = reinterpret_cast<const std::byte*>(scratch.v + p * kPanelColumns * kWindowTokens);
    multiply_tile<SumStep>(n, min_of(group, v_panels - p),
                           {.x = scratch.scores,
                            .weights = v,
                            .panel_bytes = kPanelColumns * kWindowTokens * static_cast<std::int64_t>(sizeof(float)),
                            .n_pairs = div_up(window.n_tokens, 2),
                            .out = sums.sums + begin * s.v_columns + p * kPanelColumns,
                            .out_stride = s.v_columns,
                            .n_columns = s.v_columns,
                            .continues = !window.begins_part,
                            .bias = nullptr,
                            .ahead = nullptr,
                            .ahead_panel_bytes = 0,
                            .next_out = sums.sums + (begin + n) * s.v_columns,
                            .n_ahead = 0,
                            .expanded = nullptr});
  }
}

template <class V, class T>
void attend_panels(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, const TokenWindow& window,
                   const AttentionScratch& scratch, const PairSums& sums) {
  load_window<V, T>(args, item, s, window, scratch);
  for (std::int64_t tile = 0; tile < s.tiling.n_tiles; ++tile) {
    const std::int64_t last_pair = first_row(s.tiling, tile + 1) - 1;
    if (position_of(item, row_of(s, last_pair)) < window.first) continue;  // the window is after all rows of the tile
    attend_panel_tile<V, T>(args, item, s, tile, window, scratch, sums);
  }
}

}  // namespace
}  // namespace lathe::kernels
