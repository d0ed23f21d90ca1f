// SPDX-License-Identifier: Apache-2.0
// Attention of few rows: products of an item by the warps of a block. A warp has a strip of the tokens of each span for the
// scores, and some columns of a head for the weighted sum of V.
#pragma once

#include "kernels/cuda/ops/few_memory.cuh"

namespace lathe::kernels::cuda {

template <class T, int kDim, bool kIsPlain>
class ItemProducts {
  using Memory = FewMemory<kDim>;
  static constexpr int kScores = Memory::kStrip / 8;  ///< scores of a query / 8

 public:
  __device__ ItemProducts(const Memory& memory, const AttentionRows& rows)
      : memory_(memory),
        keys_(memory),
        values_ring_(memory),
        rows_(rows),
        unit_(Scoring(rows).unit),
        warp_(static_cast<int>(threadIdx.x) / kWarp),
        lane_(static_cast<int>(threadIdx.x) % kWarp) {}

  __device__ void begin(const ItemWork& item) {
    has_lower_ = item.of.n_queries > 8;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = lane_ / 4 + 8 * r;
      queries_[r] = Query{};
      slopes_[r] = 0;
      largest_[r] = -INFINITY;
      sum_[r] = 0;
      if (at >= item.of.n_queries) continue;
      queries_[r] = item.of.query(rows_, at);
      if (!kIsPlain && rows_.slopes != nullptr) slopes_[r] = rows_.slopes[queries_[r].head];
    }
#pragma unroll
    for (int tile = 0; tile < Memory::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) values_[tile][i] = 0;
  }

  /// Computes the scores of the warp's strip of a span from `token` on, and writes the largest of each query. `n`: index of
  /// the item; `count`: of the first window of the span, less those before the item's.
  __device__ void score(const ItemWork& item, int n, int token, int count) {
    const int window = warp_ / Memory::kStrips;
    token += window * kScoreWindow;
#pragma unroll
    for (int i = 0; i < kScores; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) scores_[i][j] = -INFINITY;
    if (token < item.end && token + kScoreWindow > item.begin) {
      const int strip = warp_ % Memory::kStrips * Memory::kStrip;
      std::uint32_t fragments[kDim / 16][4];
      const std::uint32_t from = shared_address(memory_.queries(n)) + lane_ % 16 * Memory::kRowBytes + lane_ / 16 * 16;
#pragma unroll
      for (int step = 0; step < kDim / 16; ++step) load_matrices(fragments[step], from + step * 32);
      const std::uint32_t keys = keys_.wait_full(count + window);
      multiply_keys<T, kDim>(scores_, fragments, keys + strip * Memory::kRowBytes);
      keys_.release(count + window);
      token += strip;
      score_window<kIsPlain>(scores_, queries_, slopes_, rows_, token,
                             token < item.first || token + Memory::kStrip - 1 > item.last);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (r == 1 && !has_lower_) continue;
      const float highest = highest_of(scores_, r, -INFINITY);
      if (lane_ % 4 == 0) memory_.highest(lane_ / 4 + 8 * r)[warp_] = highest;
    }
  }

  /// Turns the scores of the strip into weights in shared memory.
  __device__ void weigh() {
    float bases[2] = {0, 0}, sums[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (r == 1 && !has_lower_) continue;
      bases[r] = raise_windows(r);
#pragma unroll
      for (int n = 0; n < kScores; n += 2) {
        const float sum = weigh_tokens(scores_[n], scores_[n + 1], r, unit_, bases[r]);
        sums[r] = n == 0 ? sum : __fadd_rn(sums[r], sum);
      }
    }
    memory_.sums(warp_, lane_) = {sums[0], sums[1]};
#pragma unroll
    for (int n = 0; n < kScores; n += 2) {
      std::uint32_t weights[4];
      pack_weights<T>(weights, scores_[n], scores_[n + 1]);
      if (!has_lower_) weights[1] = weights[3] = 0;
      memory_.weights((warp_ * kScores + n) / 2, lane_) = {weights[0], weights[1], weights[2], weights[3]};
    }
  }

  /// Adds the span from `token` on to the sums of the warp's columns.
  __device__ void add_values(const ItemWork& item, int token, int count) {
    const int column = lane_ * Memory::kRowBytes + warp_ * Memory::kTiles * 16;
#pragma unroll
    for (int w = 0; w < Memory::kWindows; ++w) {
      if (token + w * kScoreWindow >= item.end || token + (w + 1) * kScoreWindow <= item.begin) continue;
      std::uint32_t weights[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint4 four = memory_.weights(w * 4 + i, lane_);
        weights[i][0] = four.x, weights[i][1] = four.y, weights[i][2] = four.z, weights[i][3] = four.w;
      }
#pragma unroll
      for (int tile = 0; tile < Memory::kTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (i < 2 || has_lower_) values_[tile][i] = __fmul_rn(values_[tile][i], factors_[w][i / 2]);
      add_sums(w);
      const std::uint32_t from = values_ring_.wait_full(count + w) + column;
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int tile = 0; tile < Memory::kTiles; ++tile) {
          if (!has_tile(tile)) continue;
          std::uint32_t b[4];
          load_transposed(b, from + half * 32 * Memory::kRowBytes + tile * 16);
          multiply_add<T>(values_[tile], weights[2 * half], b[0], b[1]);
          multiply_add<T>(values_[tile], weights[2 * half + 1], b[2], b[3]);
        }
      values_ring_.release(count + w);
    }
  }

  /// Writes the result of queries that have one part.
  __device__ void finish(const Rows& out, const PreparedX& prepared) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      SoftmaxState total;
      const float2 factors = merge(total, state_of(largest_[r], sum_[r], unit_));
      if (queries_[r].last < 0) continue;
      const float factor = last_factor(total, rows_, queries_[r].head);
#pragma unroll
      for (int tile = 0; tile < Memory::kTiles; ++tile)
        if (has_tile(tile))
          store_pair(out, prepared, queries_[r], kDim, column(tile),
                     __fmul_rn(merged(0, values_[tile][2 * r], factors), factor),
                     __fmul_rn(merged(0, values_[tile][2 * r + 1], factors), factor));
    }
  }

  /// Stores the part of queries that have several.
  __device__ void keep(const ItemWork& item, const TensorWork& work) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const SoftmaxState state = state_of(largest_[r], sum_[r], unit_);
      if (queries_[r].last < 0) continue;
      float* const to = part_of<kDim>(work, item.index, lane_ / 4 + 8 * r);
#pragma unroll
      for (int tile = 0; tile < Memory::kTiles; ++tile)
        if (has_tile(tile)) *reinterpret_cast<float2*>(to + column(tile)) = {values_[tile][2 * r], values_[tile][2 * r + 1]};
      if (warp_ == 0 && lane_ % 4 == 0) *reinterpret_cast<float2*>(to + kDim) = {state.largest, state.sum};
    }
  }

 private:
  __device__ bool has_tile(int tile) const { return kDim / 8 % kFewWarps == 0 || warp_ * Memory::kTiles + tile < kDim / 8; }
  __device__ int column(int tile) const { return (warp_ * Memory::kTiles + tile) * 8 + lane_ % 4 * 2; }

  /// Raises the largest score of query r by all windows of a span. Returns the base of the warp's window.
  __device__ float raise_windows(int r) {
    float all[kFewWarps], base = 0;
#pragma unroll
    for (int i = 0; i < kFewWarps; i += 4)
      *reinterpret_cast<float4*>(all + i) = *reinterpret_cast<const float4*>(memory_.highest(lane_ / 4 + 8 * r) + i);
#pragma unroll
    for (int w = 0; w < Memory::kWindows; ++w) {
      float highest = largest_[r];
#pragma unroll
      for (int i = 0; i < Memory::kStrips; ++i) highest = fmaxf(highest, all[w * Memory::kStrips + i]);
      const WindowStep step = raise(largest_[r], highest, unit_);
      factors_[w][r] = step.factor;
      if (w == warp_ / Memory::kStrips) base = step.base;
    }
    return base;
  }

  /// Adds the weights of window w.
  __device__ void add_sums(int w) {
    constexpr int kHalf = Memory::kStrips / 2;
    float2 halves[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      halves[half] = memory_.sums(w * Memory::kStrips + half * kHalf, lane_);
      if constexpr (kHalf == 2) {
        const float2 more = memory_.sums(w * Memory::kStrips + half * kHalf + 1, lane_);
        halves[half] = {__fadd_rn(halves[half].x, more.x), __fadd_rn(halves[half].y, more.y)};
      }
    }
    sum_[0] = sum_after(sum_[0], factors_[w][0], halves[0].x, halves[1].x);
    if (has_lower_) sum_[1] = sum_after(sum_[1], factors_[w][1], halves[0].y, halves[1].y);
  }

  const Memory& memory_;
  const WindowRing<kDim, false> keys_;
  const WindowRing<kDim, true> values_ring_;
  const AttentionRows& rows_;
  float unit_;
  int warp_, lane_;
  bool has_lower_;  ///< there are queries 8 to 15
  Query queries_[2];
  float slopes_[2];
  float scores_[kScores][4];
  float factors_[Memory::kWindows][2];
  float largest_[2], sum_[2];
  float values_[Memory::kTiles][4];
};

}  // namespace lathe::kernels::cuda
