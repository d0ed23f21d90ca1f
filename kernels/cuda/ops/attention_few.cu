// SPDX-License-Identifier: Apache-2.0
// Attention of few rows over long contexts. A block takes items (a part of the context of some queries). Each of its warps
// that multiply has a strip of the tokens for the scores and some columns for the weighted sum of V; K and V of the next
// spans are on their way meanwhile. Other warps count the parts of a tile that are stored and merge them in order.
// Source: Dao et al. 2023, Flash-Decoding.
#include "kernels/cuda/ops/attention_part.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/tensor_attention.h"
#include "kernels/cuda/ops/tensor_form.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 8, kThreads = kWarps * kWarp;                ///< those that multiply
#ifndef KMT
#define KMT 4
#endif
constexpr int kMergingThreads = KMT * kWarp, kAllThreads = kThreads + kMergingThreads;
constexpr int kPlanned = 8;  ///< items of a block in shared memory
constexpr int kAhead = 6;    ///< items that are planned before they are computed; copies begin at most kAhead - 1 ahead

/// An item and the queries of its tile.
struct alignas(16) ItemWork {
  TileQueries of;
  int index;            ///< the item, in TensorWork::n_items
  int first_item;       ///< the first item of its tile
  int n_parts, ticket;
  int begin, end;       ///< tokens of the part that some row of the tile attends to
  int first, last;      ///< tokens that all rows attend to

  __device__ ItemWork(const AttentionItem& item, int at, const TensorWork& work, const AttentionRows& rows)
      : of(item.tile, at % work.n_head_items, work.n_chunks, work.group, kQueryTile),
        index(at),
        first_item(at - (item.part - item.first_part) * work.n_head_items),
        n_parts(item.n_parts),
        ticket(item.index * work.n_head_items + at % work.n_head_items),
        begin(max(item.part * kAttentionPart, of.first_from(rows, 0))),
        end(min((item.part + 1) * kAttentionPart, of.last_to(rows, of.n_queries - 1) + 1)),
        first(of.first_from(rows, of.n_queries - 1)),
        last(of.last_to(rows, 0)) {}
};

/// Shared memory of a block.
template <int kDim>
struct FewMemory {
  static constexpr int kSpan = kDim <= 128 ? kAttentionPart : kAttentionPart / 2;  ///< tokens computed at a time
  static constexpr int kStrip = kSpan / kWarps;                                   ///< tokens of a warp
  static constexpr int kWindows = kSpan / kScoreWindow;
  static constexpr int kTiles = (kDim / 8 + kWarps - 1) / kWarps;  ///< columns of a warp / 8

  static constexpr int kRowBytes = WindowLayout<kDim>::kRowBytes, kStageBytes = kSpan * kRowBytes;
  static constexpr int kWeights = 0, kQueries = kWeights + kSpan * kQueryTile * 2,
                       kHighest = kQueries + kQueryTile * kRowBytes, kSums = kHighest + kQueryTile * kWarps * 4,
                       kItems = kSums + kWarps * kWarp * 8,
                       kIsLast = kItems + kPlanned * static_cast<int>(sizeof(ItemWork)), kRing = kIsLast + 16;
  static constexpr int kStages = std::min(5, ((227 << 10) - kRing) / kStageBytes);  ///< spans of K or V
  static constexpr int kBytes = kRing + kStages * kStageBytes;
  static_assert(kStages >= 3 && kRing % 16 == 0 && kStrip % 16 == 0);

  char* base;
  __device__ uint4& weights(int tokens16, int lane) const {
    return reinterpret_cast<uint4*>(base + kWeights)[tokens16 * kWarp + lane];
  }
  __device__ float* highest(int query) const { return reinterpret_cast<float*>(base + kHighest) + query * kWarps; }
  __device__ float2& sums(int strip, int lane) const {
    return reinterpret_cast<float2*>(base + kSums)[strip * kWarp + lane];
  }
  __device__ ItemWork& item(int n) const { return reinterpret_cast<ItemWork*>(base + kItems)[n % kPlanned]; }
  __device__ int& is_last() const { return *reinterpret_cast<int*>(base + kIsLast); }
  __device__ char* queries() const { return base + kQueries; }
  __device__ std::uint32_t stage(int i) const { return shared_address(base) + kRing + i * kStageBytes; }
};

/// Waits for all threads of some warps. The barriers are kAllWarps: before it the largest scores and the parts are written;
/// kMultiply: before it weights are written and V has arrived; kMerge: of the threads that merge.
enum Barrier { kAllWarps = 0, kMultiply = 1, kMerge = 2 };
template <Barrier kBarrier>
__device__ inline void meet() {
  constexpr int kMeeting = kBarrier == kAllWarps ? kAllThreads : kBarrier == kMultiply ? kThreads : kMergingThreads;
  asm volatile("bar.sync %0, %1;\n" ::"n"(static_cast<int>(kBarrier)), "n"(kMeeting) : "memory");
}

__device__ inline int item_of_block(int n) { return static_cast<int>(blockIdx.x) + n * static_cast<int>(gridDim.x); }

/// Writes item n of the block to shared memory.
template <int kDim>
__device__ inline void plan_item(const FewMemory<kDim>& memory, const TensorWork& work, const AttentionRows& rows, int n) {
  const int at = item_of_block(n);
  if (at < work.n_items) memory.item(n) = ItemWork(work.items[at / work.n_head_items], at, work, rows);
}

/// The strips of K and V that a warp reads: for each of the block's items K, then V of each span.
template <class T, int kDim>
class StripStream {
  using Memory = FewMemory<kDim>;

 public:
  __device__ StripStream(const KvHalf<T>& k, const KvHalf<T>& v, const AttentionRows& rows, const TensorWork& work,
                         const Memory& memory)
      : k_(k), v_(v), rows_(rows), work_(work), memory_(memory) {
    begin_item();
    now_ = find();
    next_ = find();
  }

  /// Issues the copy of the next K or V to shared memory, as a group of copies, which may be empty.
  __device__ void issue(std::uint32_t to) {
    if (now_.is_there) copy((is_v_ ? v_ : k_).numbers, to);
    commit_copies();
    if (is_v_) {
      now_ = next_;
      next_ = find();
    }
    is_v_ = !is_v_;
  }

 private:
  struct Strip {
    bool is_there;
    int head;  ///< of this lane's token: index of the head in KvHalf::numbers / kDim; -1: no such token
  };

  __device__ void begin_item() {
    if (item_of_block(n_) < work_.n_items) token_ = memory_.item(n_).begin / Memory::kSpan * Memory::kSpan;
  }
  /// Finds the strip of the next span.
  __device__ Strip find() {
    if (item_of_block(n_) >= work_.n_items) return {false, -1};
    const ItemWork& item = memory_.item(n_);
    const int at = token_ + static_cast<int>(threadIdx.x) / kWarp * Memory::kStrip + static_cast<int>(threadIdx.x) % kWarp;
    Strip strip{true, -1};
    if (static_cast<int>(threadIdx.x) % kWarp < Memory::kStrip && at >= item.begin && at < item.end) {
      const int block = static_cast<int>(static_cast<unsigned>(at) / static_cast<unsigned>(k_.block_size));
      strip.head = static_cast<int>(
          k_.head_of(rows_.block_tables[static_cast<std::int64_t>(item.of.tile.seq) * rows_.max_blocks + block],
                     at - block * k_.block_size, item.of.kv_head));
    }
    token_ += Memory::kSpan;
    if (token_ >= item.end) {
      ++n_;
      begin_item();
    }
    return strip;
  }

  __device__ void copy(const T* numbers, std::uint32_t to) const {
    constexpr int kPieces = WindowLayout<kDim>::kPieces;
    // Adjacent lanes have adjacent vectors of a row: as many as a power of 2 allows.
    constexpr int kLanes = kPieces & -kPieces, kRows = kWarp / kLanes;
    static_assert(Memory::kStrip % kRows == 0 && kLanes <= kWarp);
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    const T* const from = numbers + lane % kLanes * 8;
    to += (warp * Memory::kStrip + lane / kLanes) * Memory::kRowBytes + lane % kLanes * 16;
#pragma unroll
    for (int row = 0; row < Memory::kStrip; row += kRows) {
      const int head = __shfl_sync(kAllLanes, now_.head, row + lane / kLanes);
      const T* const of_row = from + static_cast<std::int64_t>(max(head, 0)) * kDim;
#pragma unroll
      for (int piece = 0; piece < kPieces; piece += kLanes)
        copy_async(to + row * Memory::kRowBytes + piece * 16, of_row + piece * 8, head >= 0);
    }
  }

  const KvHalf<T>&k_, &v_;
  const AttentionRows& rows_;
  const TensorWork& work_;
  const Memory& memory_;
  int n_ = 0, token_ = 0;
  bool is_v_ = false;
  Strip now_, next_;
};

/// Queries of an item on their way to shared memory, pairs of elements spread over the threads; missing ones are zeros.
template <class T, int kDim>
struct QueryPairs {
  static constexpr int kPairs = kDim / 2, kHeld = (kQueryTile * kPairs + kThreads - 1) / kThreads;
  float2 pairs[kHeld];

  __device__ void load(const Rows& q, const ItemWork& item, const AttentionRows& rows) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kThreads;
      pairs[i] = {0, 0};
      if (at / kPairs >= item.of.n_queries) continue;
      const Query query = item.of.query(rows, at / kPairs);
      pairs[i] = *reinterpret_cast<const float2*>(q.data + query.row * q.stride +
                                                  static_cast<std::int64_t>(query.head) * kDim + at % kPairs * 2);
    }
  }
  __device__ void store(char* to) const {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kThreads;
      if (at >= kQueryTile * kPairs) continue;
      *reinterpret_cast<std::uint32_t*>(to + at / kPairs * WindowLayout<kDim>::kRowBytes + at % kPairs * 4) =
          packed_as<T>(pairs[i].x, pairs[i].y);
    }
  }
};

/// Address of the part of query i of an item.
template <int kDim>
__device__ inline float* part_of(const TensorWork& work, std::int64_t item, int i) {
  return work.partials + (item * work.n_few_queries + i) * part_floats(kDim);
}

/// Multiplies the items of a block. One warp's part of it.
template <class T, int kDim, bool kIsPlain>
class ItemProducts {
  using Memory = FewMemory<kDim>;
  static constexpr int kScores = Memory::kStrip / 8;  ///< scores of a query / 8

 public:
  __device__ ItemProducts(const Memory& memory, const AttentionRows& rows)
      : memory_(memory),
        rows_(rows),
        unit_(Scoring(rows).unit),
        warp_(static_cast<int>(threadIdx.x) / kWarp),
        lane_(static_cast<int>(threadIdx.x) % kWarp) {}

  __device__ void begin(const ItemWork& item) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = lane_ / 4 + 8 * r;
      queries_[r] = at < item.of.n_queries ? item.of.query(rows_, at) : Query{};
      slopes_[r] = !kIsPlain && at < item.of.n_queries && rows_.slopes != nullptr ? rows_.slopes[queries_[r].head] : 0;
      largest_[r] = -INFINITY;
      sum_[r] = 0;
    }
#pragma unroll
    for (int tile = 0; tile < Memory::kTiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) values_[tile][i] = 0;
  }

  /// Computes the scores of the warp's strip of a span from `token` on, and writes the largest of each query.
  __device__ void score(const ItemWork& item, int token, std::uint32_t keys) {
    token += warp_ * Memory::kStrip;
#pragma unroll
    for (int n = 0; n < kScores; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) scores_[n][i] = -INFINITY;
    if (token < item.end && token + Memory::kStrip > item.begin) {
      std::uint32_t fragments[kDim / 16][4];
      const std::uint32_t from =
          shared_address(memory_.queries()) + lane_ % 16 * Memory::kRowBytes + lane_ / 16 * 16;
#pragma unroll
      for (int step = 0; step < kDim / 16; ++step) load_matrices(fragments[step], from + step * 32);
      multiply_keys<T, kDim>(scores_, fragments, keys + warp_ * Memory::kStrip * Memory::kRowBytes);
      score_window<kIsPlain>(scores_, queries_, slopes_, rows_, token,
                             token < item.first || token + Memory::kStrip - 1 > item.last);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float highest = highest_of(scores_, r, -INFINITY);
      if (lane_ % 4 == 0) memory_.highest(lane_ / 4 + 8 * r)[warp_] = highest;
    }
  }

  /// Turns the scores of the strip into weights in shared memory.
  __device__ void weigh() {
    constexpr int kStrips = kScoreWindow / Memory::kStrip;  // of a window
    float bases[2] = {0, 0}, sums[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float all[kWarps];
#pragma unroll
      for (int i = 0; i < kWarps; i += 4)
        *reinterpret_cast<float4*>(all + i) = *reinterpret_cast<const float4*>(memory_.highest(lane_ / 4 + 8 * r) + i);
#pragma unroll
      for (int w = 0; w < Memory::kWindows; ++w) {
        float highest = largest_[r];
#pragma unroll
        for (int i = 0; i < kStrips; ++i) highest = fmaxf(highest, all[w * kStrips + i]);
        const WindowStep step = raise(largest_[r], highest, unit_);
        factors_[w][r] = step.factor;
        if (w == warp_ / kStrips) bases[r] = step.base;
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int n = 0; n < kScores; n += 2) {
        const float sum = weigh_tokens(scores_[n], scores_[n + 1], r, unit_, bases[r]);
        sums[r] = n == 0 ? sum : __fadd_rn(sums[r], sum);
      }
    memory_.sums(warp_, lane_) = {sums[0], sums[1]};
#pragma unroll
    for (int n = 0; n < kScores; n += 2) {
      std::uint32_t weights[4];
      pack_weights<T>(weights, scores_[n], scores_[n + 1]);
      memory_.weights((warp_ * kScores + n) / 2, lane_) = {weights[0], weights[1], weights[2], weights[3]};
    }
  }

  /// Adds the span from `token` on to the sums of the warp's columns.
  __device__ void add_values(const ItemWork& item, int token, std::uint32_t values) {
    const std::uint32_t from = values + lane_ * Memory::kRowBytes + warp_ * Memory::kTiles * 16;
#pragma unroll
    for (int w = 0; w < Memory::kWindows; ++w) {
      if (token + w * kScoreWindow >= item.end || token + (w + 1) * kScoreWindow <= item.begin) continue;
#pragma unroll
      for (int tile = 0; tile < Memory::kTiles; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) values_[tile][i] = __fmul_rn(values_[tile][i], factors_[w][i / 2]);
      add_sums(w);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t weights[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint4 four = memory_.weights(w * 4 + half * 2 + i, lane_);
          weights[i][0] = four.x, weights[i][1] = four.y, weights[i][2] = four.z, weights[i][3] = four.w;
        }
#pragma unroll
        for (int tile = 0; tile < Memory::kTiles; ++tile) {
          if (!has_tile(tile)) continue;
          std::uint32_t b[4];
          load_transposed(b, from + (w * kScoreWindow + half * 32) * Memory::kRowBytes + tile * 16);
          multiply_add<T>(values_[tile], weights[0], b[0], b[1]);
          multiply_add<T>(values_[tile], weights[1], b[2], b[3]);
        }
      }
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
        if (has_tile(tile))
          *reinterpret_cast<float2*>(to + column(tile)) = {values_[tile][2 * r], values_[tile][2 * r + 1]};
      if (warp_ == 0 && lane_ % 4 == 0) *reinterpret_cast<float2*>(to + kDim) = {state.largest, state.sum};
    }
  }

 private:
  __device__ bool has_tile(int tile) const {
    return kDim / 8 % kWarps == 0 || warp_ * Memory::kTiles + tile < kDim / 8;
  }
  __device__ int column(int tile) const { return (warp_ * Memory::kTiles + tile) * 8 + lane_ % 4 * 2; }

  /// Adds the weights of window w.
  __device__ void add_sums(int w) {
    constexpr int kStrips = kScoreWindow / Memory::kStrip;
    float2 halves[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      halves[half] = memory_.sums(w * kStrips + half * (kStrips / 2), lane_);
      if constexpr (kStrips == 4) {
        const float2 more = memory_.sums(w * kStrips + half * (kStrips / 2) + 1, lane_);
        halves[half] = {__fadd_rn(halves[half].x, more.x), __fadd_rn(halves[half].y, more.y)};
      }
    }
    sum_[0] = sum_after(sum_[0], factors_[w][0], halves[0].x, halves[1].x);
    sum_[1] = sum_after(sum_[1], factors_[w][1], halves[0].y, halves[1].y);
  }

  const Memory& memory_;
  const AttentionRows& rows_;
  float unit_;
  int warp_, lane_;
  Query queries_[2];
  float slopes_[2];
  float scores_[kScores][4];
  float factors_[Memory::kWindows][2];
  float largest_[2], sum_[2];
  float values_[Memory::kTiles][4];
};

#ifndef KMP
#define KMP 8
#endif
constexpr int kMergedParts = KMP;  ///< loads that a thread has under way

/// Merges the parts of a tile in order. A thread has vectors of 4 elements of queries.
template <int kDim>
__device__ void merge_items(const Rows& out, const PreparedX& prepared, const ItemWork& item, const AttentionRows& rows,
                            const TensorWork& work) {
  constexpr int kVectors = kDim / 4;
  const std::int64_t stride = static_cast<std::int64_t>(work.n_head_items) * work.n_few_queries * part_floats(kDim);
  for (int at = static_cast<int>(threadIdx.x) - kThreads; at < item.of.n_queries * kVectors; at += kMergingThreads) {
    const float* from = part_of<kDim>(work, item.first_item, at / kVectors);
    const int d = at % kVectors * 4;
    SoftmaxState total;
    float4 values{0, 0, 0, 0};
    for (int part = 0; part < item.n_parts; part += kMergedParts) {
      float4 loaded[kMergedParts];
      float2 states[kMergedParts];
#pragma unroll
      for (int p = 0; p < kMergedParts; ++p) {
        if (part + p >= item.n_parts) continue;
        loaded[p] = __ldcg(reinterpret_cast<const float4*>(from + d + p * stride));
        states[p] = __ldcg(reinterpret_cast<const float2*>(from + kDim + p * stride));
      }
#pragma unroll
      for (int p = 0; p < kMergedParts; ++p) {
        if (part + p >= item.n_parts) continue;
        const float2 factors = merge(total, {states[p].x, states[p].y});
        values = {merged(values.x, loaded[p].x, factors), merged(values.y, loaded[p].y, factors),
                  merged(values.z, loaded[p].z, factors), merged(values.w, loaded[p].w, factors)};
      }
      from += kMergedParts * stride;
    }
    const Query query = item.of.query(rows, at / kVectors);
    const float factor = last_factor(total, rows, query.head);
    store_pair(out, prepared, query, kDim, d, __fmul_rn(values.x, factor), __fmul_rn(values.y, factor));
    store_pair(out, prepared, query, kDim, d + 2, __fmul_rn(values.z, factor), __fmul_rn(values.w, factor));
  }
}

/// Counts a part of a tile that is stored, and merges the parts if it was the last one. The threads that merge.
template <int kDim>
__device__ void count_part(const FewMemory<kDim>& memory, const Rows& out, const PreparedX& prepared, const ItemWork& item,
                           const AttentionRows& rows, const TensorWork& work) {
  if (item.n_parts == 1) return;
  if (threadIdx.x == kThreads) {
    int* const counter = work.tickets + item.ticket;
    __threadfence();
    const bool is_last = atomicAdd(counter, 1) == item.n_parts - 1;
    if (is_last) *counter = 0;
    __threadfence();
    memory.is_last() = is_last;
  }
  meet<kMerge>();
  if (memory.is_last()) merge_items<kDim>(out, prepared, item, rows, work);
}

template <class T, int kDim, bool kIsPlain>
__global__ void __launch_bounds__(kAllThreads, 1)
    attend_items(const __grid_constant__ Rows out, const __grid_constant__ PreparedX prepared,
                 const __grid_constant__ Rows q, const __grid_constant__ KvHalf<T> k, const __grid_constant__ KvHalf<T> v,
                 const __grid_constant__ AttentionRows rows, const __grid_constant__ TensorWork work) {
  using Memory = FewMemory<kDim>;
  constexpr int kStages = Memory::kStages, kSpan = Memory::kSpan;
  extern __shared__ uint4 shared[];
  const Memory memory{reinterpret_cast<char*>(shared)};
  let_next_begin();
  if (threadIdx.x < kAhead) plan_item(memory, work, rows, static_cast<int>(threadIdx.x));
  meet<kAllWarps>();

  if (threadIdx.x >= kThreads) {
    wait_for_previous();
    for (int n = 0; item_of_block(n) < work.n_items; ++n) {
      const int begin = memory.item(n).begin / kSpan * kSpan, end = memory.item(n).end;
      for (int token = begin; token < end; token += kSpan) {
        meet<kAllWarps>();
        if (token > begin) continue;
        if (threadIdx.x == kThreads + kWarp) plan_item(memory, work, rows, n + kAhead);
        if (n > 0) count_part(memory, out, prepared, memory.item(n - 1), rows, work);
      }
    }
    meet<kAllWarps>();
    const int n_items = (work.n_items - static_cast<int>(blockIdx.x) + static_cast<int>(gridDim.x) - 1) /
                        static_cast<int>(gridDim.x);
    count_part(memory, out, prepared, memory.item(n_items - 1), rows, work);
    return;
  }

  StripStream<T, kDim> stream(k, v, rows, work, memory);
  wait_for_previous();
  for (int i = 0; i < kStages; ++i) stream.issue(memory.stage(i));
  QueryPairs<T, kDim> pairs;
  pairs.load(q, memory.item(0), rows);
  pairs.store(memory.queries());
  meet<kMultiply>();
  ItemProducts<T, kDim, kIsPlain> products(memory, rows);
  int stage = 0, free_stage = 0;  // of the next K or V to read, and to issue
  const auto next = [](int of) { return of == kStages - 1 ? 0 : of + 1; };
  bool is_first = true;
  for (int n = 0; item_of_block(n) < work.n_items; ++n) {
    const ItemWork& item = memory.item(n);
    products.begin(item);
    for (int token = item.begin / kSpan * kSpan; token < item.end; token += kSpan) {
      const bool has_next = token + kSpan >= item.end && item_of_block(n + 1) < work.n_items;
      if (has_next) pairs.load(q, memory.item(n + 1), rows);
      is_first ? wait_for_copies<kStages - 1>() : wait_for_copies<kStages - 2>();
      __syncwarp();
      products.score(item, token, memory.stage(stage));
      stage = next(stage);
      meet<kAllWarps>();
      // Everybody is done with the V of the span before, and this warp with its strip of K.
      for (int i = is_first ? 1 : 0; i < 2; ++i, free_stage = next(free_stage)) stream.issue(memory.stage(free_stage));
      is_first = false;
      products.weigh();
      if (has_next) pairs.store(memory.queries());
      wait_for_copies<kStages - 1>();
      meet<kMultiply>();
      products.add_values(item, token, memory.stage(stage));
      stage = next(stage);
    }
    item.n_parts == 1 ? products.finish(out, prepared) : products.keep(item, work);
  }
  meet<kAllWarps>();
}

template <class T, int kDim, bool kIsPlain>
void launch(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
            const AttentionRows& rows, const TensorWork& work) {
  constexpr int kBytes = FewMemory<kDim>::kBytes;
  static_assert(kBytes <= 227 << 10);
  const auto kernel = attend_items<T, kDim, kIsPlain>;
  static const cudaError_t allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  check(allowed, "setting the shared memory of attention");
  const int n_blocks = std::min(work.n_processors, work.n_items);
  launch_dependent(kernel, dim3(static_cast<unsigned>(n_blocks)), dim3(kAllThreads), kBytes, stream, out, prepared, q,
                   kv_half<T>(layer, false), kv_half<T>(layer, true), rows, work);
}

}  // namespace

void attend_few(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                const AttentionRows& rows, const TensorWork& work) {
  if (work.n_items == 0) return;
  for_tensor_form(layer.shape, Scoring(rows).is_plain, [&]<class T, int kDim, bool kIsPlain>() {
    launch<T, kDim, kIsPlain>(stream, out, prepared, q, layer, rows, work);
  });
}

}  // namespace lathe::kernels::cuda
