// SPDX-License-Identifier: Apache-2.0
// Attention of a few pairs with a window of tokens, as in decoding: K and V are widened in registers, straight from the
// blocks of the cache. Invariant: sums are added in the order of attention_panels.h, so results have the same bits.
#pragma once

#include "kernels/cpu/ops/attention_panels.h"

namespace lathe::kernels {
namespace {

constexpr int kWindowPanels = kWindowTokens / kPanelColumns;

/// Most pairs for which windows are read from the blocks. Each tile of pairs then widens K and V for itself, whereas
/// attention_panels.h widens them once for all tiles. With 24 pairs the blocks take 0.89 of the panels' time, with 32 pairs
/// the same; e4m3 is widened in more steps: 16 pairs take 1.13 of the panels' time, 8 pairs 0.82 (Skylake, AVX-512, 1024
/// tokens; AVX2 gains more).
template <class T>
constexpr std::int64_t kMaxBlockPairs = 24;
template <>
constexpr std::int64_t kMaxBlockPairs<E4m3> = 12;

/// True if windows are read from the blocks: panels of tokens, and panels of the elements of a head, must be whole.
template <class V, class T>
bool reads_blocks(const AttentionArgs& args, std::int64_t n_pairs) {
  return V::kLanes > 1 && args.block_size % kPanelColumns == 0 && args.head_dim % kPanelColumns == 0 &&
         n_pairs <= kMaxBlockPairs<T>;
}

/// Panels that a tile takes at once: a power of two, so that a window is a multiple of them.
template <class V>
constexpr int block_panels(int n_rows) {
  const int fitting = panels_for<V>(n_rows);
  return fitting == 3 ? 2 : fitting;
}

/// Addresses of each 16 tokens of a window.
template <class T>
struct WindowBlocks {
  const T* k[kWindowPanels];             ///< [head_dim][16]
  const T* next_k[kWindowPanels];        ///< next window's [head_dim][16], prefetched meanwhile
  const T* v[kWindowPanels];             ///< [16][head_dim]
  const float* k_scales[kWindowPanels];  ///< [16], if the type has scales
  const float* v_scales[kWindowPanels];
};

template <class T>
WindowBlocks<T> find_blocks(const AttentionArgs& args, const AttentionItem& item, const TokenWindow& window) {
  const KvPanels<T> layout{args.n_kv_heads, args.head_dim, args.block_size};
  const auto first = static_cast<std::uint32_t>(window.first);
  const auto block_size = static_cast<std::uint32_t>(args.block_size);
  const std::int32_t* block = args.block_tables + item.seq * args.max_blocks + first / block_size;
  std::int64_t offset = first % block_size;
  WindowBlocks<T> blocks{};
  std::int64_t p = 0;
  for (; p < div_up(window.n_tokens, kPanelColumns); ++p) {
    const auto at = [&](std::int64_t begin) { return args.kv + begin; };
    blocks.k[p] = reinterpret_cast<const T*>(at(layout.k_begin(*block, item.kv_head))) + offset * args.head_dim;
    blocks.v[p] = reinterpret_cast<const T*>(at(layout.v_begin(*block, item.kv_head))) + offset * args.head_dim;
    blocks.k_scales[p] = reinterpret_cast<const float*>(at(layout.k_scales_begin(*block, item.kv_head))) + offset;
    blocks.v_scales[p] = reinterpret_cast<const float*>(at(layout.v_scales_begin(*block, item.kv_head))) + offset;
    offset += kPanelColumns;
    if (offset == args.block_size) {
      offset = 0;
      ++block;
    }
  }
  for (; p < kWindowPanels; ++p) blocks.k[p] = blocks.k[0];  // may be prefetched, is not read
  return blocks;
}

/// Copies the scales of a window into one array, with 0 after the last token.
template <class V>
void gather_scales(const float* const* scales, std::int64_t n_tokens, float* out) {
  for (std::int64_t t = 0; t < kWindowTokens; t += V::kLanes) {
    const std::int64_t n = n_tokens - t;
    V::store(out + t, n > 0 ? V::load_n(scales[t / kPanelColumns] + t % kPanelColumns, n) : V::zero());
  }
}

/// Prefetches n elements, cache line by cache line.
template <class T>
[[gnu::always_inline]] inline void fetch(const T* p, std::int64_t n) {
  constexpr std::int64_t kLine = kCacheLine / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < n; i += kLine) __builtin_prefetch(p + i, 0, 3);
}

/// acc[row][vector] += x[row * kStride] * w[vector], the elements of some panels.
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

/// scores [row][kWindowTokens] = q [head_dim][row] * k of the tokens of some panels. Prefetches V of the same tokens
/// meanwhile: streams this short end before the processor detects them.
template <class V, class T, int kRows, int kPanels>
[[gnu::noinline]] void score_blocks(const float* q, const T* const* k, const T* const* v, std::int64_t head_dim,
                                    float* scores) {
  constexpr int kPerPanel = kPanelColumns / V::kLanes;
  constexpr int kVectors = kPanels * kPerPanel;
  typename V::Float acc[kRows][kVectors];
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) acc[i][j] = V::zero();
  }
  const T* panels[kPanels];
  const T* soon[kPanels];
#pragma GCC unroll 64
  for (int p = 0; p < kPanels; ++p) {
    panels[p] = k[p];
    soon[p] = v[p];
  }
  for (std::int64_t d = 0; d < head_dim; ++d) {
    typename V::Float w[kVectors];
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      w[j] = V::load(panels[j / kPerPanel] + d * kPanelColumns + j % kPerPanel * V::kLanes);
    }
    multiply_step<V, 1>(acc, q + d * kRows, w);
#pragma GCC unroll 64
    for (int p = 0; p < kPanels; ++p) __builtin_prefetch(soon[p] + d * kPanelColumns, 0, 3);
  }
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) V::store(scores + i * kWindowTokens + j * V::kLanes, acc[i][j]);
  }
}

/// sums [row][head_dim] (+)= weights [row][kWindowTokens] * some columns of V of a window. Prefetches as much of next_k.
template <class V, class T, int kRows, int kPanels>
[[gnu::noinline]] void sum_blocks(const float* weights, const T* const* v, const T* const* next_k, std::int64_t column,
                                  const TokenWindow& window, std::int64_t head_dim, float* sums) {
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
    const T* soon = next_k[t / kPanelColumns] + column;
    const std::int64_t end = min_of(t + kPanelColumns, window.n_tokens);
    for (; t < end; ++t) {
      typename V::Float w[kVectors];
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) w[j] = V::load(row + j * V::kLanes);
      multiply_step<V, kWindowTokens>(acc, weights + t, w);
      fetch(soon, kPanels * kPanelColumns);
      row += head_dim;
      soon += head_dim;
    }
  }
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) V::store(sums + i * head_dim + j * V::kLanes, acc[i][j]);
  }
}

/// Attends from a tile of pairs to the window.
template <class V, class T, int kRows>
void attend_block_tile(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t begin,
                       const TokenWindow& window, const WindowBlocks<T>& blocks, const AttentionScratch& scratch,
                       const PairSums& sums) {
  constexpr int kPanels = block_panels<V>(kRows);
  const float* const q = scratch.q + begin * s.head_dim;
  const std::int64_t n_panels = div_up(window.n_tokens, kPanelColumns);
  std::int64_t p = 0;
  for (; p + kPanels <= n_panels; p += kPanels) {
    score_blocks<V, T, kRows, kPanels>(q, blocks.k + p, blocks.v + p, s.head_dim, scratch.scores + p * kPanelColumns);
  }
  for (; p < n_panels; ++p) {
    score_blocks<V, T, kRows, 1>(q, blocks.k + p, blocks.v + p, s.head_dim, scratch.scores + p * kPanelColumns);
  }
  if constexpr (kScaleBytes<T> > 0) scale_tokens<V>(scratch.scores, kRows, scratch.k_scales);
  update_softmax<V>(args, item, s, begin, kRows, window, scratch.scores, sums);
  if constexpr (kScaleBytes<T> > 0) scale_tokens<V>(scratch.scores, kRows, scratch.v_scales);
  float* const out = sums.sums + begin * s.head_dim;
  std::int64_t d = 0;
  for (; d + kPanels * kPanelColumns <= s.head_dim; d += kPanels * kPanelColumns) {
    sum_blocks<V, T, kRows, kPanels>(scratch.scores, blocks.v, blocks.next_k, d, window, s.head_dim, out + d);
  }
  for (; d < s.head_dim; d += kPanelColumns) {
    sum_blocks<V, T, kRows, 1>(scratch.scores, blocks.v, blocks.next_k, d, window, s.head_dim, out + d);
  }
}

/// Calls the function above for n pairs, a number known at run time.
template <class V, class T, int kRows = max_tile_rows<V>()>
void attend_block_tile(std::int64_t n, const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s,
                       std::int64_t begin, const TokenWindow& window, const WindowBlocks<T>& blocks,
                       const AttentionScratch& scratch, const PairSums& sums) {
  if constexpr (kRows > 1) {
    if (n < kRows) return attend_block_tile<V, T, kRows - 1>(n, args, item, s, begin, window, blocks, scratch, sums);
  }
  attend_block_tile<V, T, kRows>(args, item, s, begin, window, blocks, scratch, sums);
}

/// Attends to the windows of a part up to the token at `end`.
template <class V, class T>
void attend_blocks(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t part,
                   std::int64_t end, const AttentionScratch& scratch, const PairSums& sums) {
  TokenWindow window = first_window(args, item, part, end);
  WindowBlocks<T> blocks = find_blocks<T>(args, item, window);
  while (window.n_tokens > 0) {
    const TokenWindow next = window_after(window, end);
    const WindowBlocks<T> next_blocks = next.n_tokens > 0 ? find_blocks<T>(args, item, next) : blocks;
    for (int p = 0; p < kWindowPanels; ++p) blocks.next_k[p] = next_blocks.k[p];
    if constexpr (kScaleBytes<T> > 0) {
      gather_scales<V>(blocks.k_scales, window.n_tokens, scratch.k_scales);
      gather_scales<V>(blocks.v_scales, window.n_tokens, scratch.v_scales);
    }
    for (std::int64_t tile = 0; tile < s.tiling.n_tiles; ++tile) {
      attend_block_tile<V, T>(rows_of(s.tiling, tile), args, item, s, first_row(s.tiling, tile), window, blocks, scratch,
                              sums);
    }
    window = next;
    blocks = next_blocks;
  }
}

}  // namespace
}  // namespace lathe::kernels
