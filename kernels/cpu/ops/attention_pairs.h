// SPDX-License-Identifier: Apache-2.0
// Operations of attention on each pair, one query head of one row: online softmax over windows, and the sum over parts.
// Source: Milakov and Gimelshein 2018 (online softmax); Dao et al. 2023, Flash-Decoding (parts).
// Invariant: the operations on a row depend only on its query, its position and the tokens before it. A masked token has
// weight exactly 0.
#pragma once

#include "kernels/cpu/ops/lane_sums.h"
#include "kernels/cpu/ops/tile.h"
#include "kernels/cpu/table/attention_layout.h"

namespace lathe::kernels {
namespace {

/// Sizes of an item's pairs, which are ordered by row, then by head.
struct AttentionShape {
  std::int64_t head_dim;
  std::int64_t group;  ///< query heads per KV head
  std::int64_t n_pairs;
  std::int64_t v_columns;  ///< head_dim rounded up to whole panels
  RowTiling tiling;        ///< tiles of the pairs
};

/// Row of a pair, counted from the first row of the item. Divides in 32 bits: a 64-bit division takes processors three times
/// as long.
inline std::int64_t row_of(const AttentionShape& s, std::int64_t pair) {
  return static_cast<std::uint32_t>(pair) / static_cast<std::uint32_t>(s.group);
}

/// Offset of a pair's elements in q or out. Units: elements.
inline std::int64_t offset_of(const AttentionItem& item, const AttentionShape& s, std::int64_t pair, std::int64_t stride) {
  const std::int64_t row = row_of(s, pair);
  return (item.row + row) * stride + (item.kv_head * s.group + pair - row * s.group) * s.head_dim;
}

/// A run of consecutive tokens of the sequence.
struct TokenWindow {
  std::int64_t first;
  std::int64_t n_tokens;  ///< at most kWindowTokens
  bool begins_part;
};

/// First window of a part that the first row of the item sees.
inline TokenWindow first_window(const AttentionArgs& args, const AttentionItem& item, std::int64_t part, std::int64_t end) {
  const std::int64_t seen = first_visible(item.position, args.window) / kWindowTokens * kWindowTokens;
  const std::int64_t first = part * kPartTokens > seen ? part * kPartTokens : seen;
  return {.first = first, .n_tokens = min_of(kWindowTokens, end - first), .begins_part = true};
}
/// Next window; it has no tokens if the part or the context ends at `end`.
constexpr TokenWindow window_after(const TokenWindow& window, std::int64_t end) {
  const std::int64_t first = window.first + kWindowTokens;
  return {.first = first, .n_tokens = min_of(kWindowTokens, end - first), .begins_part = false};
}

/// Packs the queries, multiplied with the scale, tile after tile as [head_dim][pair].
inline void pack_queries(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, float* packed) {
  for (std::int64_t tile = 0; tile < s.tiling.n_tiles; ++tile) {
    const std::int64_t begin = first_row(s.tiling, tile);
    const std::int64_t n = rows_of(s.tiling, tile);
    for (std::int64_t i = 0; i < n; ++i) {
      const float* q = args.q + offset_of(item, s, begin + i, args.q_stride);
      for (std::int64_t d = 0; d < s.head_dim; ++d) packed[begin * s.head_dim + d * n + i] = q[d] * args.scale;
    }
  }
}

/// Resets the sums before the first window of a part. The weighted sums need no reset: the first window overwrites them.
inline void begin_part(const AttentionShape& s, const PairSums& sums) {
  for (std::int64_t i = 0; i < s.n_pairs; ++i) {
    sums.reference[i] = -__builtin_inff();
    sums.weight[i] = 0;
  }
}

/// Multiplies the values of n pairs for each token of a window with the scale of the token.
template <class V>
void scale_tokens(float* numbers, std::int64_t n, const float* scales) {
  for (std::int64_t i = 0; i < n; ++i) {
    float* const of_pair = numbers + i * kWindowTokens;
    for (int t = 0; t < kWindowTokens; t += V::kLanes) {
      V::store(of_pair + t, V::mul(V::load(of_pair + t), V::load(scales + t)));
    }
  }
}

struct TokenNumbers {
  float numbers[kWindowTokens];
  constexpr TokenNumbers() : numbers() {
    for (int t = 0; t < kWindowTokens; ++t) numbers[t] = static_cast<float>(t);
  }
};
constexpr TokenNumbers kTokenNumbers;

/// Rounds a finite value to bf16, half to even.
inline float rounded_to_bf16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  return __builtin_bit_cast(float, (bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
}

/// Adds ALiBi biases whose products are rounded to bf16: for the tokens from `first` on, seen from `position`. The loop is
/// plain C++ that the compiler vectorizes, and its results do not depend on the width of the vectors.
template <class V>
void add_rounded_slopes(float slope, float scale, std::int64_t first, std::int64_t position, float* scores) {
  const float own = rounded_to_bf16(slope * rounded_to_bf16(static_cast<float>(position)));
  const auto start = static_cast<float>(first);
  float biases[kWindowTokens];
  for (int t = 0; t < kWindowTokens; ++t) {
    biases[t] = rounded_to_bf16(slope * rounded_to_bf16(start + kTokenNumbers.numbers[t])) - own;
  }
  for (int t = 0; t < kWindowTokens; t += V::kLanes) {
    V::store(scores + t, V::fma(V::load(biases + t), V::set(scale), V::load(scores + t)));
  }
}

/// Soft-caps the scores of a row and adds the ALiBi biases of its head: for the tokens from `first` on, seen from
/// `position`.
template <class V>
void shape_scores(const AttentionArgs& args, std::int64_t head, std::int64_t first, std::int64_t position, float* scores) {
  if (args.soft_cap > 0) {
    const auto cap = V::set(args.soft_cap);
    for (int t = 0; t < kWindowTokens; t += V::kLanes) {
      V::store(scores + t, V::mul(cap, Math<V>::tanh(V::div(V::load(scores + t), cap))));
    }
  }
  if (args.slopes == nullptr) return;
  if (args.rounded_slope_scale != 0) {
    return add_rounded_slopes<V>(args.slopes[head], args.rounded_slope_scale, first, position, scores);
  }
  const auto slope = V::set(args.slopes[head]);
  const auto distance = V::set(static_cast<float>(first - position));
  for (int t = 0; t < kWindowTokens; t += V::kLanes) {
    const auto token = V::add(V::load(kTokenNumbers.numbers + t), distance);
    V::store(scores + t, V::fma(token, slope, V::load(scores + t)));
  }
}

/// Largest score of a row for the tokens [begin, end); all other scores become minus infinity.
template <class V>
float hide_and_find_largest(float* scores, std::int64_t begin, std::int64_t end) {
  const auto hidden = V::set(-__builtin_inff());
  auto largest = hidden;
  for (int t = 0; t < kWindowTokens; t += V::kLanes) {
    auto score = V::load(scores + t);
    if (end < t + V::kLanes || begin > t) {
      score = V::keep_first(begin - t, hidden, V::keep_first(end - t, score, hidden));
      V::store(scores + t, score);
    }
    largest = V::max(largest, score);
  }
  return V::largest(largest);
}

/// Replaces the scores of a row with weights. Returns the sum of the weights.
template <class V>
float weigh(float* scores, float reference) {
  static_assert(kWindowTokens % kSumLanes == 0);
  LaneSums<V> sums;
  for (int t = 0; t < kWindowTokens; t += kSumLanes) {
#pragma GCC unroll 16
    for (int j = 0; j < sums.kVectors; ++j) {
      float* const score = scores + t + j * V::kLanes;
      const auto weight = Math<V>::exp(V::sub(V::load(score), V::set(reference)));
      V::store(score, weight);
      sums.sums[j] = V::add(sums.sums[j], weight);
    }
  }
  return sums.total();
}

/// Growth of the largest score beyond which the reference follows it. A pair's weights are exp(score - reference); with this
/// slack sums are rarely rescaled, and weights stay below e^8. Following each time takes a prompt of 1024 tokens 7 % longer
/// (Skylake, AVX-512).
constexpr float kSlack = 8;
/// A reference below this means that the pair has seen no token yet.
constexpr float kLowest = -__FLT_MAX__;

/// One online-softmax step of the n pairs of a tile from `begin` on: replaces their scores of the window with weights and
/// rescales their sums so far. Each stage runs over all pairs, so that the latencies of one pair hide behind the others. A
/// pair that sees no token here keeps its sums.
template <class V>
void update_softmax(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t begin,
                    std::int64_t n, const TokenWindow& window, float* scores, const PairSums& sums) {
  constexpr int kRows = 16;  // pairs of any tile, rounded up to whole vectors
  static_assert(kRows >= kMaxAttentionTileRows);
  float shrink[kRows] = {};
  bool has_grown = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = row_of(s, begin + i);
    const std::int64_t position = position_of(item, row);
    float* const of_pair = scores + i * kWindowTokens;
    shape_scores<V>(args, item.kv_head * s.group + begin + i - row * s.group, window.first, position, of_pair);
    const std::int64_t n_visible = min_of(window.n_tokens, position + 1 - window.first);
    const std::int64_t n_behind = first_visible(static_cast<std::int32_t>(position), args.window) - window.first;
    const float highest = hide_and_find_largest<V>(of_pair, n_behind, n_visible);
    const float before = sums.reference[begin + i];
    const bool grows = highest > before + kSlack;
    has_grown |= grows;
    sums.reference[begin + i] = grows ? highest : before;
    shrink[i] = grows ? before - highest : 0;
  }
  if (has_grown && !window.begins_part) {
    for (int i = 0; i < kRows; i += V::kLanes) V::store(shrink + i, Math<V>::exp(V::load(shrink + i)));
    for (std::int64_t i = 0; i < n; ++i) {
      if (shrink[i] == 1) continue;  // a factor of 1 changes nothing
      sums.weight[begin + i] *= shrink[i];
      float* of_pair = sums.sums + (begin + i) * s.v_columns;
      for (std::int64_t d = 0; d < s.v_columns; d += V::kLanes) {
        V::store(of_pair + d, V::mul(V::load(of_pair + d), V::set(shrink[i])));
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const float reference = sums.reference[begin + i];
    sums.weight[begin + i] += weigh<V>(scores + i * kWindowTokens, reference < kLowest ? 0 : reference);
  }
}

/// Adds the sums of the pairs over one part to their sums over all parts before it. Pairs whose rows precede the part keep
/// their sums.
template <class V>
void add_part(const AttentionItem& item, const AttentionShape& s, std::int64_t part, const PairSums& total,
              const PairSums& added) {
  std::int64_t first = 0;
  while (first < s.n_pairs && position_of(item, row_of(s, first)) < part * kPartTokens) first += s.group;
  for (; first < s.n_pairs; first += V::kLanes) {
    const std::int64_t n = min_of(V::kLanes, s.n_pairs - first);
    const auto before = V::load_n(total.reference + first, n);
    const auto here = V::load_n(added.reference + first, n);
    const auto reference = V::max(V::max(before, here), V::set(kLowest));
    float shrink[V::kLanes], shrink_added[V::kLanes];
    V::store(shrink, Math<V>::exp(V::sub(before, reference)));
    V::store(shrink_added, Math<V>::exp(V::sub(here, reference)));
    const auto both = [&](auto a, auto b, auto shrink_a, auto shrink_b) { return V::fma(b, shrink_b, V::mul(a, shrink_a)); };
    const auto weight =
        both(V::load_n(total.weight + first, n), V::load_n(added.weight + first, n), V::load(shrink), V::load(shrink_added));
    V::store_n(total.weight + first, weight, n);
    V::store_n(total.reference + first, reference, n);
    for (std::int64_t i = 0; i < n; ++i) {
      float* const to = total.sums + (first + i) * s.v_columns;
      const float* const from = added.sums + (first + i) * s.v_columns;
      const auto shrink_to = V::set(shrink[i]);
      const auto shrink_from = V::set(shrink_added[i]);
      for (std::int64_t d = 0; d < s.v_columns; d += V::kLanes) {
        V::store(to + d, both(V::load(to + d), V::load(from + d), shrink_to, shrink_from));
      }
    }
  }
}

template <class V>
float weight_of_sink(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, std::int64_t pair,
                     float reference) {
  if (args.sinks == nullptr) return 0;
  float weight[V::kLanes];
  const std::int64_t head = item.kv_head * s.group + pair - row_of(s, pair) * s.group;
  V::store(weight, Math<V>::exp(V::set(args.sinks[head] - reference)));
  return weight[0];
}

/// Writes weighted sums / sums of weights to the rows of out.
template <class V>
void store_pairs(const AttentionArgs& args, const AttentionItem& item, const AttentionShape& s, const PairSums& total) {
  for (std::int64_t pair = 0; pair < s.n_pairs; ++pair) {
    float* out = args.out + offset_of(item, s, pair, args.out_stride);
    const float* sums = total.sums + pair * s.v_columns;
    const auto weight = V::set(total.weight[pair] + weight_of_sink<V>(args, item, s, pair, total.reference[pair]));
    for (std::int64_t d = 0; d < s.head_dim; d += V::kLanes) {
      V::store_n(out + d, V::div(V::load(sums + d), weight), s.head_dim - d);
    }
  }
}

}  // namespace
}  // namespace lathe::kernels
