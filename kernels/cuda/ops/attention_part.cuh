// SPDX-License-Identifier: Apache-2.0
// One part of a context for 16 queries of a warp on tensor cores: scores of 64 tokens, their weights, the weighted sum of V.
// Every kernel of attention on tensor cores computes a part with these functions, so that a query has the same bits in all.
// A thread has queries lane / 4 and lane / 4 + 8 (called 0 and 1 below), and of 8 tokens or 8 elements of a head those with
// indices 2 (lane % 4) and 2 (lane % 4) + 1. Multiply-adds are written out, so that the compiler fuses none.
// Source: Dao 2023, FlashAttention-2; PTX ISA, "Matrix fragments for mma.m16n8k16".
#pragma once

#include <type_traits>

#include "kernels/cuda/layout/attention_items.h"
#include "kernels/cuda/ops/async_copy.cuh"
#include "kernels/cuda/ops/kv.cuh"
#include "kernels/cuda/ops/ops.h"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {

inline constexpr float kLog2e = 1.4426950408889634F;
inline constexpr unsigned kAllLanes = 0xffffffffU;

/// 2^x; denormal results are 0.
__device__ inline float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

template <class T>
__device__ inline std::uint32_t packed_as(float low, float high) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  } else {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  }
}

/// c += a b for 16 queries, 8 columns and 16 k.
template <class T>
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// A head of a row, and the first and last token that it attends to.
struct Query {
  std::int64_t row = 0;
  int head = 0;
  int first = 0, last = -1;
};

/// Queries of a tile: rows times some query heads of one KV head.
struct TileQueries {
  AttentionTile tile;
  int kv_head, first_head, n_heads, n_queries;

  /// `head_index`: kv_head * n_chunks + chunk of at most `most_heads` query heads of its group.
  __device__ TileQueries(const AttentionTile& of, int head_index, int n_chunks, int group, int most_heads)
      : tile(of),
        kv_head(n_chunks == 1 ? head_index : head_index / n_chunks),
        first_head(kv_head * group + (head_index - kv_head * n_chunks) * most_heads),
        n_heads(min(group - (head_index - kv_head * n_chunks) * most_heads, most_heads)),
        n_queries(tile.n_rows * n_heads) {}

  __device__ Query query(const AttentionRows& rows, int i) const {
    const int of_tile = tile.n_rows == 1 ? 0 : i / n_heads, position = tile.position + (rows.is_causal ? of_tile : 0);
    return {tile.row + of_tile, first_head + i - of_tile * n_heads, rows.window > 0 ? max(0, position + 1 - rows.window) : 0,
            position};
  }
  /// First token that a query from i on attends to.
  __device__ int first_from(const AttentionRows& rows, int i) const { return query(rows, i).first; }
  /// Last token that a query up to i attends to.
  __device__ int last_to(const AttentionRows& rows, int i) const { return query(rows, min(i, n_queries - 1)).last; }
};

/// Form of the scores. `is_plain`: scale > 0 and nothing else; then dots are compared unscaled. `unit`: factor from what is
/// compared to exponents of 2.
struct Scoring {
  bool is_plain;
  float unit;
  __host__ __device__ explicit Scoring(const AttentionRows& rows)
      : is_plain(rows.slopes == nullptr && !(rows.soft_cap > 0) && rows.scale > 0),
        unit(is_plain ? rows.scale * kLog2e : kLog2e) {}
};

__device__ inline float rounded_to_bf16(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }
__device__ inline float rounded_bias(float slope, int token) {
  return rounded_to_bf16(__fmul_rn(slope, rounded_to_bf16(static_cast<float>(token))));
}
__device__ inline float score_of(float dot, const AttentionRows& rows, float slope, int last, int token) {
  float score = __fmul_rn(dot, rows.scale);
  if (rows.soft_cap > 0) score = __fmul_rn(rows.soft_cap, tanhf(__fdiv_rn(score, rows.soft_cap)));
  if (rows.slopes == nullptr) return score;
  if (rows.rounded_slope_scale == 0) return fmaf(slope, static_cast<float>(token - last), score);
  return fmaf(__fsub_rn(rounded_bias(slope, token), rounded_bias(slope, last)), rows.rounded_slope_scale, score);
}

/// State of a softmax: the largest score (as an exponent of 2), and the sum of the weights 2^(score - largest).
struct SoftmaxState {
  float largest = -INFINITY, sum = 0;
};

/// Merges `part` into `state`. Returns the factors for the weighted values of `state` (x) and of `part` (y).
__device__ inline float2 merge(SoftmaxState& state, const SoftmaxState& part) {
  if (part.largest == -INFINITY) return {1, 0};
  const float largest = fmaxf(state.largest, part.largest);
  const float2 factors{exp2_of(__fsub_rn(state.largest, largest)), exp2_of(__fsub_rn(part.largest, largest))};
  state = {largest, __fadd_rn(__fmul_rn(state.sum, factors.x), __fmul_rn(part.sum, factors.y))};
  return factors;
}
__device__ inline float merged(float value, float of_part, float2 factors) {
  return __fadd_rn(__fmul_rn(value, factors.x), __fmul_rn(of_part, factors.y));
}
/// Factor that finishes the weighted values of a query, its sink included.
__device__ inline float last_factor(SoftmaxState total, const AttentionRows& rows, int head) {
  float factor = 1;
  if (rows.sinks != nullptr) factor = merge(total, {__fmul_rn(rows.sinks[head], kLog2e), 1}).x;
  return __fdiv_rn(factor, total.sum);
}

/// Writes two adjacent elements of a head's result.
__device__ inline void store_pair(const Rows& out, const PreparedX& prepared, const Query& query, int head_dim, int d,
                                  float x, float y) {
  const std::int64_t column = static_cast<std::int64_t>(query.head) * head_dim + d;
  if (out.data != nullptr) *reinterpret_cast<float2*>(out.data + query.row * out.stride + column) = {x, y};
  if (prepared.data == nullptr) return;
  store(prepared, query.row, column, x);
  store(prepared, query.row, column + 1, y);
}

/// The softmax state of a query of a part, equal in its four threads. `largest`: in the unit that scores are compared in;
/// `sum`: of this thread's tokens.
__device__ inline SoftmaxState state_of(float largest, float sum, float unit) {
  sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 1));
  sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 2));
  return {__fmul_rn(largest, unit), sum};
}

/// Sums of one part, before a division by `sum`.
template <int kDim>
struct PartSums {
  float values[kDim / 8][4];
  float largest[2];  ///< in the unit that scores are compared in
  float sum[2];      ///< of this thread's tokens

  __device__ void clear() {
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
      for (int i = 0; i < 4; ++i) values[d][i] = 0;
    largest[0] = largest[1] = -INFINITY;
    sum[0] = sum[1] = 0;
  }

  __device__ SoftmaxState state(int r, float unit) const { return state_of(largest[r], sum[r], unit); }
};

/// Turns dots into scores and hides the tokens that a query does not attend to. `token`: first of the 8 kN tokens.
template <bool kIsPlain, int kN>
__device__ inline void score_window(float (&scores)[kN][4], const Query (&queries)[2], const float (&slopes)[2],
                                    const AttentionRows& rows, int token, bool is_masked) {
  const int mine = token + 2 * (static_cast<int>(threadIdx.x) % 4);
  if constexpr (!kIsPlain) {
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[n][i] = score_of(scores[n][i], rows, slopes[i / 2], queries[i / 2].last, mine + 8 * n + i % 2);
  }
  if (!is_masked) return;
#pragma unroll
  for (int n = 0; n < kN; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = mine + 8 * n + i % 2;
      if (at < queries[i / 2].first || at > queries[i / 2].last) scores[n][i] = -INFINITY;
    }
}

/// Largest of some scores of query r, equal in its four threads.
template <int kN>
__device__ inline float highest_of(const float (&scores)[kN][4], int r, float highest) {
#pragma unroll
  for (int n = 0; n < kN; ++n) highest = fmaxf(highest, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
  highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, 1));
  return fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, 2));
}

/// A window's step of the softmax of a part. `base`: exponent of 2 that its scores are reduced by. `factor`: for the sums of
/// the windows before it.
struct WindowStep {
  float base, factor;
};
/// Raises the largest score of a part to `highest`, the largest of the part and of the next window.
__device__ inline WindowStep raise(float& largest, float highest, float unit) {
  const float base = highest == -INFINITY ? 0.0F : __fmul_rn(highest, unit);
  const float factor = highest == largest ? 1.0F : exp2_of(__fsub_rn(__fmul_rn(largest, unit), base));
  largest = highest;
  return {base, factor};
}

/// Turns this thread's scores of query r in 16 tokens, two groups of 8, into weights. Returns their sum.
__device__ inline float weigh_tokens(float (&low)[4], float (&high)[4], int r, float unit, float base) {
#pragma unroll
  for (int i = 2 * r; i < 2 * r + 2; ++i) {
    low[i] = exp2_of(fmaf(low[i], unit, -base));
    high[i] = exp2_of(fmaf(high[i], unit, -base));
  }
  return __fadd_rn(__fadd_rn(low[2 * r], low[2 * r + 1]), __fadd_rn(high[2 * r], high[2 * r + 1]));
}
/// The left factor of the product of these weights with V.
template <class T>
__device__ inline void pack_weights(std::uint32_t (&weights)[4], const float (&low)[4], const float (&high)[4]) {
  weights[0] = packed_as<T>(low[0], low[1]);
  weights[1] = packed_as<T>(low[2], low[3]);
  weights[2] = packed_as<T>(high[0], high[1]);
  weights[3] = packed_as<T>(high[2], high[3]);
}
/// A part's sum after a window. The sum of a half of a window is the sum of the sums of its two groups of 16 tokens.
__device__ inline float sum_after(float sum, float factor, float first_half, float second_half) {
  return __fadd_rn(__fmul_rn(sum, factor), __fadd_rn(first_half, second_half));
}

/// Adds a window to the softmax of a part: scales what it has summed so far, and rounds the weights to T as the left factor
/// of their product with V. A window without a visible token changes no bit.
template <class T, int kDim>
__device__ inline void weigh_window(std::uint32_t (&weights)[kScoreWindow / 16][4], float (&scores)[kScoreWindow / 8][4],
                                    PartSums<kDim>& part, float unit) {
  static_assert(kScoreWindow == 64);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const WindowStep step = raise(part.largest[r], highest_of(scores, r, part.largest[r]), unit);
    float sums[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[j] = weigh_tokens(scores[2 * j], scores[2 * j + 1], r, unit, step.base);
    part.sum[r] = sum_after(part.sum[r], step.factor, __fadd_rn(sums[0], sums[1]), __fadd_rn(sums[2], sums[3]));
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d) {
      part.values[d][2 * r] = __fmul_rn(part.values[d][2 * r], step.factor);
      part.values[d][2 * r + 1] = __fmul_rn(part.values[d][2 * r + 1], step.factor);
    }
  }
#pragma unroll
  for (int j = 0; j < kScoreWindow / 16; ++j) pack_weights<T>(weights[j], scores[2 * j], scores[2 * j + 1]);
}

/// K or V of kScoreWindow tokens in shared memory: rows of kDim elements, 16 bytes apart, so that 8 rows are in different
/// banks.
template <int kDim>
struct WindowLayout {
  static constexpr int kPieces = kDim / 8;  ///< vectors of 16 bytes of a row
  static constexpr int kRowBytes = kDim * 2 + 16;
  static constexpr int kBytes = kScoreWindow * kRowBytes;
};

/// scores = q k^T for 8 kN tokens.
template <class T, int kDim, int kN>
__device__ inline void multiply_keys(float (&scores)[kN][4], const std::uint32_t (&q)[kDim / 16][4], std::uint32_t k) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::uint32_t from = k + (lane / 16 * 8 + lane % 8) * WindowLayout<kDim>::kRowBytes + lane / 8 % 2 * 16;
#pragma unroll
  for (int n = 0; n < kN; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = 0;
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step)
#pragma unroll
    for (int n = 0; n < kN / 2; ++n) {
      std::uint32_t b[4];
      load_matrices(b, from + n * 16 * WindowLayout<kDim>::kRowBytes + step * 32);
      multiply_add<T>(scores[2 * n], q[step], b[0], b[1]);
      multiply_add<T>(scores[2 * n + 1], q[step], b[2], b[3]);
    }
}

/// values += weights v.
template <class T, int kDim>
__device__ inline void multiply_values(float (&values)[kDim / 8][4], const std::uint32_t (&weights)[kScoreWindow / 16][4],
                                       std::uint32_t v) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::uint32_t from = v + lane % 16 * WindowLayout<kDim>::kRowBytes + lane / 16 * 16;
#pragma unroll
  for (int step = 0; step < kScoreWindow / 16; ++step)
#pragma unroll
    for (int d = 0; d < kDim / 16; ++d) {
      std::uint32_t b[4];
      load_transposed(b, from + step * 16 * WindowLayout<kDim>::kRowBytes + d * 32);
      multiply_add<T>(values[2 * d], weights[step], b[0], b[1]);
      multiply_add<T>(values[2 * d + 1], weights[step], b[2], b[3]);
    }
}

/// Queries of a thread, their slopes, and the fragments of the 16 queries of its warp. Queries from n_queries on are zeros
/// that attend to nothing.
template <class T, int kDim>
struct WarpQueries {
  Query queries[2];
  float slopes[2];
  std::uint32_t fragments[kDim / 16][4];

  __device__ void find(const AttentionRows& rows, const TileQueries& of, int first_query) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = first_query + lane / 4 + 8 * r;
      queries[r] = at < of.n_queries ? of.query(rows, at) : Query{};
      slopes[r] = at < of.n_queries && rows.slopes != nullptr ? rows.slopes[queries[r].head] : 0;
    }
  }
  __device__ bool is_there(int r) const { return queries[r].last >= 0; }

  __device__ void load(const Rows& q) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Query& query = queries[i % 2];
      const float* const from =
          q.data + query.row * q.stride + static_cast<std::int64_t>(query.head) * kDim + lane % 4 * 2 + i / 2 * 8;
#pragma unroll
      for (int step = 0; step < kDim / 16; ++step) {
        const float2 two = is_there(i % 2) ? *reinterpret_cast<const float2*>(from + step * 16) : float2{0, 0};
        fragments[step][i] = packed_as<T>(two.x, two.y);
      }
    }
  }
};

/// Rows of a window's tokens in the cache, kTokens of them for each warp, lane i has tokens i and 32 + i; and their copies.
template <class T, int kDim, int kTokens>
struct WindowRows {
  static constexpr int kHeld = (kTokens + kWarp - 1) / kWarp;
  int heads[kHeld];  ///< index of the head in KvHalf::numbers / kDim; -1: no such token

  /// `token`: first token of the warp.
  __device__ void find(const KvHalf<T>& half, const std::int32_t* table, int kv_head, int token, int end) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int at = token + lane + i * kWarp;
      heads[i] = lane < kTokens && at < end
                     ? static_cast<int>(half.head_of(table[at / half.block_size], at % half.block_size, kv_head))
                     : -1;
    }
  }

  /// Copies to rows of 128 bytes whose vectors are exchanged (warpgroup.cuh). `to`: row of the first token of the warp in
  /// the first block of 64 elements.
  __device__ void copy_swizzled(const T* numbers, std::uint32_t to) const {
    static_assert(kTokens % 8 == 0 && kDim % 64 == 0 && kDim <= 256);
    constexpr int kLanes = kDim / 8, kRows = kWarp / kLanes;
    const int lane = static_cast<int>(threadIdx.x) % kWarp, piece = lane % kLanes;
    const T* const from = numbers + piece * 8;
    const std::uint32_t block = to + piece / 8 * (kScoreWindow * 128);
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
#pragma unroll 4
      for (int row = lane / kLanes; row < kTokens / kHeld; row += kRows) {
        const int head = __shfl_sync(kAllLanes, heads[i], row), at = row + i * kWarp;
        copy_async(block + at * 128 + (piece % 8 ^ at % 8) * 16, from + static_cast<std::int64_t>(max(head, 0)) * kDim,
                   head >= 0);
      }
  }

  /// Calls copy(offset in a window of K or V, address, is_there) for this thread's vectors of 16 bytes.
  template <class Copy>
  __device__ void copy(const T* numbers, const Copy& copy) const {
    constexpr int kPieces = WindowLayout<kDim>::kPieces;
    // Adjacent lanes have adjacent vectors of a row: as many as a power of 2 allows.
    constexpr int kLanes = kPieces & -kPieces, kRows = kWarp / kLanes;
    static_assert(kTokens % kRows == 0 && kLanes <= kWarp);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const T* const from = numbers + lane % kLanes * 8;
    const int to = lane / kLanes * WindowLayout<kDim>::kRowBytes + lane % kLanes * 16;
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
#pragma unroll 4
      for (int row = 0; row < kTokens / kHeld; row += kRows) {
        const int head = __shfl_sync(kAllLanes, heads[i], row + lane / kLanes);
        const T* const of_row = from + static_cast<std::int64_t>(max(head, 0)) * kDim;
        const int at = to + (row + i * kWarp) * WindowLayout<kDim>::kRowBytes;
#pragma unroll
        for (int piece = 0; piece < kPieces; piece += kLanes) copy(at + piece * 16, of_row + piece * 8, head >= 0);
      }
  }
};

}  // namespace lathe::kernels::cuda
