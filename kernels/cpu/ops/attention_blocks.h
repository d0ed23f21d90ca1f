// SPDX-License-Identifier: Apache-2.0
// A window of tokens against a few pairs: K and V are widened in registers, straight from the blocks of the cache. This is
// what decoding does. It adds in the same order as attention_panels.h, so the results have the same bits.
#pragma once

#include "kernels/cpu/ops/attention_panels.h"

namespace lathe::kernels {
namespace {

constexpr int kWindowPanels = kWindowTokens / kPanelColumns;

/// Tiles of pairs that each widen K and V for themselves; more of them share what is widened once.
constexpr std::int64_t kMaxBlockTiles = 2;

/// Whether a window can be read that way: its panels of tokens, and of the numbers of a head, are whole.
template <class V>
bool reads_blocks(const AttentionArgs& args, std::int64_t n_pairs) {
  return V::kLanes > 1 && args.block_size % kPanelColumns == 0 && args.head_dim % kPanelColumns == 0 &&
         div_up(n_pairs, max_tile_rows<V>()) <= kMaxBlockTiles;
}

/// Panels that a tile takes at once: a power of two, so that they come out even in a window.
template <class V>
constexpr int block_panels(int n_rows) {
  const int fitting = panels_for<V>(n_rows);
  return fitting == 3 ? 2 : fitting;
}

/// Where each 16 tokens of a window lie.
template <class T>
struct WindowBlocks {
  const T* k[kWindowPanels];  ///< [head_dim][16]
  const T* v[kWindowPanels];  ///< [16][head_dim]
};

template <class T>
WindowBlocks<T> find_blocks(const AttentionArgs& args, const AttentionItem& item, const TokenWindow& window,
                            const AttentionScratch& scratch) {
  const KvLayout<T> layout{args.n_kv_heads, args.head_dim, args.block_size};
  const auto first = static_cast<std::uint32_t>(window.first);
  const auto block_size = static_cast<std::uint32_t>(args.block_size);
  const std::int32_t* block = args.block_tables + item.seq * args.max_blocks + first / block_size;
  std::int64_t offset = first % block_size;
  WindowBlocks<T> blocks{};
  for (std::int64_t t = 0; t < window.n_tokens; t += kPanelColumns) {
    const std::int64_t p = t / kPanelColumns;
    blocks.k[p] = reinterpret_cast<const T*>(args.kv + layout.k_begin(*block, item.kv_head)) + offset * args.head_dim;
    blocks.v[p] = reinterpret_cast<const T*>(args.kv + layout.v_begin(*block, item.kv_head)) + offset * args.head_dim;
    copy_scales<T>(args, layout, *block, item.kv_head, offset, min_of(kPanelColumns, window.n_tokens - t),
                   scratch.k_scales + t, scratch.v_scales + t);
    offset += kPanelColumns;
    if (offset == args.block_size) {
      offset = 0;
      ++block;
    }
  }
  clear_scales_behind<T>(window.n_tokens, scratch);
  return blocks;
}

/// acc[row][vector] += x[row * kStride] * the numbers of some panels.
template <class V, int kStride, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_step(typename V::Float (&acc)[kRows][kVectors], const float* x,
                                                 const typename V::Float (&w)[kVectors]) {
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
    const auto number = V::set(x[i * kStride]);
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) V::accumulate(acc[i][j], number, w[j]);
  }
}

/// scores [row][kWindowTokens] = q [head_dim][row] * k of the tokens of some panels.
template <class V, class T, int kRows, int kPanels>
[[gnu::noinline]] void score_blocks(const float* q, const T* const* k, std::int64_t head_dim, float* scores) {
  constexpr int kPerPanel = kPanelColumns / V::kLanes;
  constexpr int kVectors = kPanels * kPerPanel;
  typename V::Float acc[kRows][kVectors];
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) acc[i][j] = V::zero();
  }
  const T* panels[kPanels];
#pragma GCC unroll 64
  for (int p = 0; p < kPanels; ++p) panels[p] = k[p];
  for (std::int64_t d = 0; d < head_dim; ++d) {
    typename V::Float w[kVectors];
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      w[j] = V::load(panels[j / kPerPanel] + d * kPanelColumns + j % kPerPanel * V::kLanes);
    }
    multiply_step<V, 1>(acc, q + d * kRows, w);
  }
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) V::store(scores + i * kWindowTokens + j * V::kLanes, acc[i][j]);
  }
}

/// sums [row][head_dim] (+)= weights [row][kWindowTokens] * some columns of V of a window.
template <class V, class T, int kRows, int kPanels>
[[gnu::noinline]] void sum_blocks(const float* weights, const T* const* v, std::int64_t column, const TokenWindow& window,
                                  std::int64_t head_dim, float* sums) {
  constexpr int kVectors = kPanels * kPanelColumns / V::kLanes;
  typename V::Float acc[kRows][kVectors];
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      acc[i][j] = window.begins_part ? V::zero() : V::load(sums + i * head_dim + j * V::kLanes);
    }
  }
  for (std::int64_t t = 0; t < window.n_tokens;) {
    const T* row = v[t / kPanelColumns] + column;
    const std::int64_t end = min_of(t + kPanelColumns, window.n_tokens);
    for (; t < end; ++t) {
      typename V::Float w[kVectors];
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) w[j] = V::load(row + j * V::kLanes);
      multiply_step<V, kWindowTokens>(acc, weights + t, w);
      row += head_dim;
    }
  }
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) V::store(sums + i * head_dim + j * V::kLanes, acc[i][j]);
  }
}

/// A tile of pairs against the window.
template <class V, class T, int kRows>
void attend_block_tile(const AttentionItem& item, const AttentionShape& s, std::int64_t begin, const TokenWindow& window,
                       const WindowBlocks<T>& blocks, const AttentionScratch& scratch, const PairSums& sums) {
  constexpr int kPanels = block_panels<V>(kRows);
  const float* const q = scratch.q + begin * s.head_dim;
  const std::int64_t n_panels = div_up(window.n_tokens, kPanelColumns);
  std::int64_t p = 0;
  for (; p + kPanels <= n_panels; p += kPanels) {
    score_blocks<V, T, kRows, kPanels>(q, blocks.k + p, s.head_dim, scratch.scores + p * kPanelColumns);
  }
  for (; p < n_panels; ++p) {
    score_blocks<V, T, kRows, 1>(q, blocks.k + p, s.head_dim, scratch.scores + p * kPanelColumns);
  }
  if constexpr (kScaleBytes<T> > 0) scale_tokens<V>(scratch.scores, kRows, scratch.k_scales);
  update_softmax<V>(item, s, begin, kRows, window, scratch.scores, sums);
  if constexpr (kScaleBytes<T> > 0) scale_tokens<V>(scratch.scores, kRows, scratch.v_scales);
  float* const out = sums.sums + begin * s.head_dim;
  std::int64_t d = 0;
  for (; d + kPanels * kPanelColumns <= s.head_dim; d += kPanels * kPanelColumns) {
    sum_blocks<V, T, kRows, kPanels>(scratch.scores, blocks.v, d, window, s.head_dim, out + d);
  }
  for (; d < s.head_dim; d += kPanelColumns) {
    sum_blocks<V, T, kRows, 1>(scratch.scores, blocks.v, d, window, s.head_dim, out + d);
  }
}

/// The same for a number of pairs known at run time.
template <class V, class T, int kRows = max_tile_rows<V>()>
void attend_block_tile(std::int64_t n, const AttentionItem& item, const AttentionShape& s, std::int64_t begin,
                       const TokenWindow& window, const WindowBlocks<T>& blocks, const AttentionScratch& scratch,
                       const PairSums& sums) {
  if constexpr (kRows > 1) {
    if (n < kRows) return attend_block_tile<V, T, kRows - 1>(n, item, s, begin, window, blocks, scratch, sums);
  }
  attend_block_tile<V, T, kRows>(item, s, begin, window, blocks, scratch, sums);
}

template <class V, class T>
void attend_blocks(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, const TokenWindow& window,
                   const AttentionScratch& scratch, const PairSums& sums) {
  const WindowBlocks<T> blocks = find_blocks<T>(args, item, window, scratch);
  for (std::int64_t tile = 0; tile < s.tiling.n_tiles; ++tile) {
    attend_block_tile<V, T>(rows_of(s.tiling, tile), item, s, first_row(s.tiling, tile), window, blocks, scratch, sums);
  }
}

}  // namespace
}  // namespace lathe::kernels
