// SPDX-License-Identifier: Apache-2.0
// Attention of some rows of one sequence with one KV head, window by window, with online softmax in f32.
// Source: Milakov and Gimelshein 2018 (online softmax); Dao et al. 2022, Algorithm 1 (tiles).
// Invariant: what is done for a row depends only on its query, its position and the tokens before it. A window is seen by
// every row with the same steps in the same order; a masked token has weight exactly 0.
#pragma once

#include "kernels/cpu/ops/tile.h"
#include "kernels/cpu/table/kv_layout.h"

namespace lathe::kernels {
namespace {

constexpr int kWindowPanels = kWindowTokens / kPanelColumns;

/// Scratch of an item. A pair is one query head of one row; pairs are ordered by row, then head. Units: floats.
struct AttentionScratch {
  float* k;        ///< [panel of tokens][head_dim][16]
  float* v;        ///< [panel of head_dim][token][16]
  float* q;        ///< tile after tile, [head_dim][pair]
  float* scores;   ///< [pair of a tile][kWindowTokens]
  float* sums;     ///< [pair][v_columns]: weighted sums of V
  float* largest;  ///< [pair]: of the scores seen so far
  float* weight;   ///< [pair]: sum of the weights so far
};

struct AttentionShape {
  std::int64_t head_dim;
  std::int64_t group;  ///< query heads of a KV head
  std::int64_t n_pairs;
  std::int64_t v_columns;  ///< head_dim rounded up to whole panels
  RowTiling tiling;        ///< of the pairs
};

/// With 6 rows an AVX-512 tile takes the four panels of a window, or of 64 numbers of a head, at once; 8 would leave one
/// over.
template <class V>
constexpr int attention_tile_rows() {
  return V::kLanes == 16 ? 6 : max_tile_rows<V>();
}

template <class V>
AttentionShape shape_of(const AttentionArgs& args, const AttentionItem& item) {
  AttentionShape s{};
  s.head_dim = args.head_dim;
  s.group = args.n_heads / args.n_kv_heads;
  s.n_pairs = s.group * item.n_rows;
  s.v_columns = div_up(s.head_dim, kPanelColumns) * kPanelColumns;
  s.tiling = {.n_rows = s.n_pairs, .n_tiles = div_up(s.n_pairs, attention_tile_rows<V>())};
  return s;
}

inline AttentionScratch divide_scratch(const AttentionShape& s, float* scratch) {
  AttentionScratch parts{};
  parts.k = scratch;
  parts.v = parts.k + kWindowTokens * s.head_dim;
  parts.scores = parts.v + kWindowTokens * s.v_columns;
  parts.sums = parts.scores + kMaxAttentionTileRows * kWindowTokens;
  parts.q = parts.sums + s.n_pairs * s.v_columns;
  parts.largest = parts.q + s.n_pairs * s.head_dim;
  parts.weight = parts.largest + s.n_pairs;
  return parts;
}

/// What elements are multiplied with: nothing, all with one number, each with its own.
struct Unscaled {
  template <class V, class Lanes>
  typename V::Float apply(typename V::Float x, std::int64_t, Lanes) const {
    return x;
  }
};
struct OneScale {
  float scale;
  template <class V, class Lanes>
  typename V::Float apply(typename V::Float x, std::int64_t, Lanes) const {
    return V::mul(x, V::set(scale));
  }
};
struct OwnScales {
  const float* scales;
  template <class V, class Lanes>
  typename V::Float apply(typename V::Float x, std::int64_t i, Lanes n) const {
    return V::mul(x, V::load_n(scales + i, n));
  }
};

/// n elements to f32, n at most a panel's columns. Whole panels, the usual case, go without a loop.
template <class V, class T, class Scale>
void convert(float* out, const T* in, std::int64_t n, const Scale& scale) {
  if (n == kPanelColumns) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanelColumns; i += V::kLanes) {
      V::store(out + i, scale.template apply<V>(V::load(in + i), i, AllLanes{}));
    }
    return;
  }
  for (std::int64_t i = 0; i < n; i += V::kLanes) {
    V::store_n(out + i, scale.template apply<V>(V::load_n(in + i, n - i), i, n - i), n - i);
  }
}

/// What K and V of a block are multiplied with, from an offset on.
template <class T>
struct BlockScales {
  BlockScales(const KvLayout<T>&, const std::byte*, std::int64_t, std::int32_t, std::int64_t) {}
  Unscaled of_k() const { return {}; }
  Unscaled of_v(std::int64_t) const { return {}; }
};
template <>
struct BlockScales<I8> {
  const float* k;
  const float* v;
  BlockScales(const KvLayout<I8>& layout, const std::byte* kv, std::int64_t block_id, std::int32_t kv_head,
              std::int64_t offset)
      : k(reinterpret_cast<const float*>(kv + layout.k_scales_begin(block_id, kv_head)) + offset),
        v(reinterpret_cast<const float*>(kv + layout.v_scales_begin(block_id, kv_head)) + offset) {}
  OwnScales of_k() const { return {k}; }
  OneScale of_v(std::int64_t i) const { return {v[i]}; }
};

/// Copies tokens [first, first + n_tokens) of a sequence into the panels of the window, as f32.
template <class V, class T>
void load_window(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t first,
                 std::int64_t n_tokens, const AttentionScratch& scratch) {
  const KvLayout<T> layout{args.n_kv_heads, args.head_dim, args.block_size};
  const std::int32_t* block_table = args.block_tables + item.seq * args.max_blocks;
  for (std::int64_t t = 0; t < n_tokens;) {
    const std::int64_t block_id = block_table[(first + t) / args.block_size];
    const std::int64_t offset = (first + t) % args.block_size;
    const std::int64_t in_panel = t % kPanelColumns;
    const std::int64_t n = min_of(min_of(args.block_size - offset, kPanelColumns - in_panel), n_tokens - t);
    const BlockScales<T> scales(layout, args.kv, block_id, item.kv_head, offset);
    const T* k = reinterpret_cast<const T*>(args.kv + layout.k_begin(block_id, item.kv_head)) + offset;
    float* k_out = scratch.k + (t - in_panel) * s.head_dim + in_panel;
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      convert<V>(k_out + d * kPanelColumns, k + d * args.block_size, n, scales.of_k());
    }
    const T* v = reinterpret_cast<const T*>(args.kv + layout.v_begin(block_id, item.kv_head)) + offset * s.head_dim;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t d = 0; d < s.head_dim; d += kPanelColumns) {
        convert<V>(scratch.v + d * kWindowTokens + (t + i) * kPanelColumns, v + i * s.head_dim + d,
                   min_of(kPanelColumns, s.head_dim - d), scales.of_v(i));
      }
    }
    t += n;
  }
}

/// Weighted sums take tokens in pairs. After an odd number comes one of weight 0, and 0 times old memory must not be NaN.
inline void clear_last_pair(const AttentionShape& s, std::int64_t n_tokens, const AttentionScratch& scratch) {
  if (n_tokens % 2 == 0) return;
  for (std::int64_t d = 0; d < s.head_dim; d += kPanelColumns) {
    for (std::int64_t i = 0; i < kPanelColumns; ++i) scratch.v[d * kWindowTokens + n_tokens * kPanelColumns + i] = 0;
  }
}

/// Packs the queries, times the scale, tile after tile as [head_dim][pair], and starts the sums.
inline void start_pairs(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s,
                        const AttentionScratch& scratch) {
  for (std::int64_t tile = 0; tile < s.tiling.n_tiles; ++tile) {
    const std::int64_t begin = first_row(s.tiling, tile);
    const std::int64_t n = rows_of(s.tiling, tile);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t row = item.row + (begin + i) / s.group;
      const std::int64_t head = item.kv_head * s.group + (begin + i) % s.group;
      const float* q = args.q + row * args.q_stride + head * s.head_dim;
      for (std::int64_t d = 0; d < s.head_dim; ++d) scratch.q[begin * s.head_dim + d * n + i] = q[d] * args.scale;
    }
  }
  for (std::int64_t i = 0; i < s.n_pairs * s.v_columns; ++i) scratch.sums[i] = 0;
  for (std::int64_t i = 0; i < s.n_pairs; ++i) {
    scratch.largest[i] = -__builtin_inff();
    scratch.weight[i] = 0;
  }
}

/// Largest of the first n_visible scores of a row; those after it become minus infinity.
template <class V>
float hide_and_find_largest(float* scores, std::int64_t n_visible) {
  const auto hidden = V::set(-__builtin_inff());
  auto largest = hidden;
  for (int t = 0; t < kWindowTokens; t += V::kLanes) {
    auto score = V::load(scores + t);
    if (n_visible < t + V::kLanes) {
      score = V::keep_first(n_visible - t, score, hidden);
      V::store(scores + t, score);
    }
    largest = V::max(largest, score);
  }
  return V::largest(largest);
}

/// Turns the scores of a row into weights exp(score - largest). Returns their sum.
template <class V>
float weigh(float* scores, float largest) {
  auto sum = V::zero();
  for (int t = 0; t < kWindowTokens; t += V::kLanes) {
    const auto weight = Math<V>::exp(V::sub(V::load(scores + t), V::set(largest)));
    V::store(scores + t, weight);
    sum = V::add(sum, weight);
  }
  return V::sum(sum);
}

/// One online-softmax step of the n pairs of a tile: turns their scores of the window into weights and shrinks what they
/// have summed so far. Step by step for all pairs, so that the latencies of one pair hide behind the others.
template <class V>
void update_softmax(const AttentionItem& item, const AttentionShape& s, std::int64_t begin, std::int64_t n,
                    std::int64_t first, std::int64_t n_tokens, const AttentionScratch& scratch) {
  constexpr int kRows = 16;  // the pairs of any tile, in whole vectors
  static_assert(kRows >= kMaxAttentionTileRows);
  float shrink[kRows] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t position = item.position + (begin + i) / s.group;
    const std::int64_t n_visible = min_of(n_tokens, position + 1 - first);
    const float window = hide_and_find_largest<V>(scratch.scores + i * kWindowTokens, n_visible);
    float& largest = scratch.largest[begin + i];
    const float before = largest;
    largest = before > window ? before : window;
    shrink[i] = before - largest;
  }
  for (int i = 0; i < kRows; i += V::kLanes) V::store(shrink + i, Math<V>::exp(V::load(shrink + i)));
  for (std::int64_t i = 0; i < n; ++i) {
    const float sum = weigh<V>(scratch.scores + i * kWindowTokens, scratch.largest[begin + i]);
    scratch.weight[begin + i] = scratch.weight[begin + i] * shrink[i] + sum;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (shrink[i] == 1) continue;  // the largest score has not changed, and times 1 changes nothing
    float* sums = scratch.sums + (begin + i) * s.v_columns;
    for (std::int64_t d = 0; d < s.v_columns; d += V::kLanes) {
      V::store(sums + d, V::mul(V::load(sums + d), V::set(shrink[i])));
    }
  }
}

/// A tile of pairs against the window: scores, weights, weighted sums.
template <class V>
void attend_tile(const AttentionItem& item, const AttentionShape& s, std::int64_t tile, std::int64_t first,
                 std::int64_t n_tokens, const AttentionScratch& scratch) {
  using ScoreStep = MultiplyAdd<V, SplitWeights<V, float>, PackedX>;
  using SumStep = MultiplyAdd<V, SplitWeights<V, float>, StridedX<kWindowTokens>>;
  const std::int64_t begin = first_row(s.tiling, tile);
  const std::int64_t n = rows_of(s.tiling, tile);
  const std::int64_t group = panels_for<V>(static_cast<int>(n));
  const std::int64_t n_panels = div_up(n_tokens, kPanelColumns);
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
                              .ahead = nullptr,  // all of it lies in the cache
                              .ahead_panel_bytes = 0,
                              .next_out = scratch.scores,
                              .n_ahead = 0,
                              .expanded = nullptr});
  }
  update_softmax<V>(item, s, begin, n, first, n_tokens, scratch);
  const std::int64_t v_panels = s.v_columns / kPanelColumns;
  for (std::int64_t p = 0; p < v_panels; p += group) {
    const auto* v = reinterpret_cast<const std::byte*>(scratch.v + p * kPanelColumns * kWindowTokens);
    multiply_tile<SumStep>(n, min_of(group, v_panels - p),
                           {.x = scratch.scores,
                            .weights = v,
                            .panel_bytes = kPanelColumns * kWindowTokens * static_cast<std::int64_t>(sizeof(float)),
                            .n_pairs = div_up(n_tokens, 2),
                            .out = scratch.sums + begin * s.v_columns + p * kPanelColumns,
                            .out_stride = s.v_columns,
                            .n_columns = s.v_columns,
                            .continues = true,
                            .bias = nullptr,
                            .ahead = nullptr,
                            .ahead_panel_bytes = 0,
                            .next_out = scratch.sums + (begin + n) * s.v_columns,
                            .n_ahead = 0,
                            .expanded = nullptr});
  }
}

template <class V>
void store_pairs(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s,
                 const AttentionScratch& scratch) {
  for (std::int64_t pair = 0; pair < s.n_pairs; ++pair) {
    const std::int64_t row = item.row + pair / s.group;
    const std::int64_t head = item.kv_head * s.group + pair % s.group;
    float* out = args.out + row * args.out_stride + head * s.head_dim;
    const float* sums = scratch.sums + pair * s.v_columns;
    for (std::int64_t d = 0; d < s.head_dim; ++d) out[d] = sums[d] / scratch.weight[pair];
  }
}

template <class V>
void attend(const AttentionArgs& args, const AttentionItem& item, float* memory) {
  const AttentionShape s = shape_of<V>(args, item);
  const AttentionScratch scratch = divide_scratch(s, memory);
  start_pairs(args, item, s, scratch);
  const std::int64_t n_visible = item.position + item.n_rows;
  for (std::int64_t first = 0; first < n_visible; first += kWindowTokens) {
    const std::int64_t n_tokens = min_of(kWindowTokens, n_visible - first);
    with_kv_type(args.kv_type, [&]<class T>(T) { load_window<V, T>(args, item, s, first, n_tokens, scratch); });
    clear_last_pair(s, n_tokens, scratch);
    for (std::int64_t tile = 0; tile < s.tiling.n_tiles; ++tile) {
      const std::int64_t last_pair = first_row(s.tiling, tile + 1) - 1;
      if (item.position + last_pair / s.group < first) continue;  // the window lies after all rows of the tile
      attend_tile<V>(item, s, tile, first, n_tokens, scratch);
    }
  }
  store_pairs<V>(args, item, s, scratch);
}

}  // namespace
}  // namespace lathe::kernels
