// SPDX-License-Identifier: Apache-2.0
// Attention of few rows over long contexts: each warp takes items (a part of the context of some queries) and keeps K and V
// of its next windows on their way. The warp that computes the last part of a tile merges the parts in order. Source: Dao et
// al. 2023, Flash-Decoding.
#include "kernels/cuda/ops/attention_part.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/tensor_attention.h"
#include "kernels/cuda/ops/tensor_form.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kStages = 2;  ///< windows of K or V of a warp in shared memory

template <int kDim>
constexpr int few_warps() {
  return kDim <= 64 ? 8 : kDim <= 128 ? 6 : 3;
}

/// An item and the queries of its tile.
struct ItemWork {
  TileQueries of;
  int part, first_part, n_parts, ticket;
  int begin, end;  ///< tokens of the part that the rows of the tile attend to, begin rounded down to a window
  std::int64_t first_item;

  __device__ ItemWork(const AttentionItem& item, int index, const TensorWork& work, const AttentionRows& rows)
      : of(item.tile, index % work.n_head_items, work.n_chunks, work.group, kQueryTile),
        part(item.part),
        first_part(item.first_part),
        n_parts(item.n_parts),
        ticket(item.index * work.n_head_items + index % work.n_head_items),
        begin(max(item.part * kAttentionPart, of.first_from(rows, 0) / kScoreWindow * kScoreWindow)),
        end(min((item.part + 1) * kAttentionPart, of.last_to(rows, of.n_queries - 1) + 1)),
        first_item(index - static_cast<std::int64_t>(item.part - item.first_part) * work.n_head_items) {}
};

/// The windows of K and V that a warp reads: for each of its items K, then V of each window.
template <class T, int kDim>
class WindowStream {
 public:
  __device__ WindowStream(const KvHalf<T>& k, const KvHalf<T>& v, const AttentionRows& rows, const TensorWork& work,
                          int item, int n_slots)
      : k_(k), v_(v), rows_(rows), work_(work), item_(item), n_slots_(n_slots) {
    if (is_done()) return;
    next_ = work_.items[item_ / work_.n_head_items];
    begin_item();
  }

  /// Issues the copy of the next K or V to shared memory, as a group of copies, which is empty after the last one.
  __device__ void issue(std::uint32_t to) {
    if (!is_done()) {
      window_.copy((is_v_ ? v_ : k_).numbers,
                   [&](int offset, const T* from, bool is_there) { copy_async(to + offset, from, is_there); });
    }
    commit_copies();
    if (is_done()) return;
    is_v_ = !is_v_;
    if (is_v_) return;
    token_ += kScoreWindow;
    if (token_ < end_) {
      window_.find(k_, table_, kv_head_, token_, end_);
      return;
    }
    item_ += n_slots_;
    if (!is_done()) begin_item();
  }

 private:
  __device__ bool is_done() const { return item_ >= work_.n_items; }
  __device__ void begin_item() {
    const ItemWork now(next_, item_, work_, rows_);
    if (item_ + n_slots_ < work_.n_items) next_ = work_.items[(item_ + n_slots_) / work_.n_head_items];
    token_ = now.begin;
    end_ = now.end;
    kv_head_ = now.of.kv_head;
    table_ = rows_.block_tables + static_cast<std::int64_t>(now.of.tile.seq) * rows_.max_blocks;
    window_.find(k_, table_, kv_head_, token_, end_);
  }

  const KvHalf<T>&k_, &v_;
  const AttentionRows& rows_;
  const TensorWork& work_;
  int item_, n_slots_;
  AttentionItem next_;
  const std::int32_t* table_;
  int token_, end_, kv_head_;
  bool is_v_ = false;
  WindowRows<T, kDim, kScoreWindow> window_;
};

/// Address of the part of query i of an item.
template <int kDim>
__device__ inline float* part_of(const TensorWork& work, std::int64_t item, int i) {
  return work.partials + (item * work.n_few_queries + i) * part_floats(kDim);
}

template <int kDim>
__device__ void keep_part(const PartSums<kDim>& part, const ItemWork& item, const TensorWork& work, int index, float unit) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const SoftmaxState state = part.state(r, unit);
    const int at = lane / 4 + 8 * r;
    if (at >= item.of.n_queries) continue;
    float* const to = part_of<kDim>(work, index, at);
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
      *reinterpret_cast<float2*>(to + d * 8 + lane % 4 * 2) = {part.values[d][2 * r], part.values[d][2 * r + 1]};
    if (lane % 4 == 0) *reinterpret_cast<float2*>(to + kDim) = {state.largest, state.sum};
  }
}

template <int kDim>
__device__ void finish_part(const Rows& out, const PreparedX& prepared, const PartSums<kDim>& part,
                            const Query (&queries)[2], const AttentionRows& rows, float unit) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    SoftmaxState total;
    const float2 factors = merge(total, part.state(r, unit));
    if (queries[r].last < 0) continue;
    const float factor = last_factor(total, rows, queries[r].head);
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
      store_pair(out, prepared, queries[r], kDim, d * 8 + lane % 4 * 2,
                 __fmul_rn(merged(0, part.values[d][2 * r], factors), factor),
                 __fmul_rn(merged(0, part.values[d][2 * r + 1], factors), factor));
  }
}

constexpr int kMergedVectors = 4, kMergedParts = 6;  ///< loads that a lane has under way

/// Merges the parts of a tile in order. A lane has vectors of 4 elements of queries.
template <int kDim>
__device__ __noinline__ void merge_items(const Rows& out, const PreparedX& prepared, const ItemWork& item,
                                         const AttentionRows& rows, const TensorWork& work) {
  constexpr int kVectors = kDim / 4;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t stride = static_cast<std::int64_t>(work.n_head_items) * work.n_few_queries * part_floats(kDim);
  for (int first = 0; first < item.of.n_queries * kVectors; first += kMergedVectors * kWarp) {
    const float* from[kMergedVectors];
    int at[kMergedVectors];
    SoftmaxState total[kMergedVectors];
    float4 values[kMergedVectors];
#pragma unroll
    for (int i = 0; i < kMergedVectors; ++i) {
      at[i] = min(first + i * kWarp + lane, item.of.n_queries * kVectors - 1);
      from[i] = part_of<kDim>(work, item.first_item, at[i] / kVectors);
      values[i] = {0, 0, 0, 0};
    }
    for (int part = 0; part < item.n_parts; part += kMergedParts) {
      float4 loaded[kMergedParts][kMergedVectors];
      float2 states[kMergedParts][kMergedVectors];
#pragma unroll
      for (int p = 0; p < kMergedParts; ++p)
#pragma unroll
        for (int i = 0; i < kMergedVectors; ++i) {
          states[p][i] = {-INFINITY, 0};
          if (part + p >= item.n_parts) continue;
          loaded[p][i] = __ldcg(reinterpret_cast<const float4*>(from[i] + at[i] % kVectors * 4 + p * stride));
          states[p][i] = __ldcg(reinterpret_cast<const float2*>(from[i] + kDim + p * stride));
        }
#pragma unroll
      for (int p = 0; p < kMergedParts; ++p)
#pragma unroll
        for (int i = 0; i < kMergedVectors; ++i) {
          if (part + p >= item.n_parts) continue;
          const float2 factors = merge(total[i], {states[p][i].x, states[p][i].y});
          values[i] = {merged(values[i].x, loaded[p][i].x, factors), merged(values[i].y, loaded[p][i].y, factors),
                       merged(values[i].z, loaded[p][i].z, factors), merged(values[i].w, loaded[p][i].w, factors)};
        }
#pragma unroll
      for (int i = 0; i < kMergedVectors; ++i) from[i] += kMergedParts * stride;
    }
#pragma unroll
    for (int i = 0; i < kMergedVectors; ++i) {
      if (first + i * kWarp + lane >= item.of.n_queries * kVectors) continue;
      const Query query = item.of.query(rows, at[i] / kVectors);
      const float factor = last_factor(total[i], rows, query.head);
      const int d = at[i] % kVectors * 4;
      store_pair(out, prepared, query, kDim, d, __fmul_rn(values[i].x, factor), __fmul_rn(values[i].y, factor));
      store_pair(out, prepared, query, kDim, d + 2, __fmul_rn(values[i].z, factor), __fmul_rn(values[i].w, factor));
    }
  }
}

/// Counts the parts of a tile that are stored. True, in all lanes: this was the last one, and the counter is 0 again.
__device__ inline bool is_last_part(int* counter, int n_parts) {
  __threadfence();
  __syncwarp();
  int before = 0;
  if (threadIdx.x % kWarp == 0) {
    before = atomicAdd(counter, 1);
    if (before == n_parts - 1) *counter = 0;
  }
  const bool is_last = __shfl_sync(kAllLanes, before, 0) == n_parts - 1;
  __threadfence();
  return is_last;
}

template <class T, int kDim, bool kIsPlain>
__global__ void __launch_bounds__(few_warps<kDim>() * kWarp, 1)
    attend_items(const __grid_constant__ Rows out, const __grid_constant__ PreparedX prepared,
                 const __grid_constant__ Rows q, const __grid_constant__ KvHalf<T> k, const __grid_constant__ KvHalf<T> v,
                 const __grid_constant__ AttentionRows rows, const __grid_constant__ TensorWork work) {
  extern __shared__ uint4 memory[];
  let_next_begin();
  const Scoring scoring(rows);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::uint32_t ring = shared_address(memory) + warp * kStages * WindowLayout<kDim>::kBytes;
  // Items that are left for a last round are spread over all blocks.
  const int slot = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
  const int n_slots = static_cast<int>(gridDim.x) * few_warps<kDim>();
  WindowStream<T, kDim> stream(k, v, rows, work, slot, n_slots);
  wait_for_previous();
  for (int i = 0; i < kStages; ++i) stream.issue(ring + i * WindowLayout<kDim>::kBytes);
  int stage = 0;
  const auto next_stage = [&] {
    __syncwarp();  // all lanes have read the stage
    stream.issue(ring + stage * WindowLayout<kDim>::kBytes);
    stage = stage == kStages - 1 ? 0 : stage + 1;
  };
  const auto arrived = [&] {
    wait_for_copies<kStages - 1>();
    __syncwarp();
    return ring + stage * WindowLayout<kDim>::kBytes;
  };
  WarpQueries<T, kDim> mine;
  PartSums<kDim> part;
  for (int index = slot; index < work.n_items; index += n_slots) {
    const ItemWork item(work.items[index / work.n_head_items], index, work, rows);
    mine.find(rows, item.of, 0);
    mine.load(q);
    part.clear();
    const int first = item.of.first_from(rows, item.of.n_queries - 1), last = item.of.last_to(rows, 0);
    for (int token = item.begin; token < item.end; token += kScoreWindow) {
      float scores[kScoreWindow / 8][4];
      std::uint32_t weights[kScoreWindow / 16][4];
      multiply_keys<T, kDim>(scores, mine.fragments, arrived());
      next_stage();
      score_window<kIsPlain>(scores, mine.queries, mine.slopes, rows, token,
                             token < first || token + kScoreWindow - 1 > last);
      weigh_window<T, kDim>(weights, scores, part, scoring.unit);
      multiply_values<T, kDim>(part.values, weights, arrived());
      next_stage();
    }
    if (item.n_parts == 1) {
      finish_part<kDim>(out, prepared, part, mine.queries, rows, scoring.unit);
    } else {
      keep_part<kDim>(part, item, work, index, scoring.unit);
      if (is_last_part(work.tickets + item.ticket, item.n_parts)) merge_items<kDim>(out, prepared, item, rows, work);
    }
  }
}

template <class T, int kDim, bool kIsPlain>
void launch(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
            const AttentionRows& rows, const TensorWork& work) {
  constexpr int kWarps = few_warps<kDim>();
  constexpr std::size_t kBytes = static_cast<std::size_t>(kWarps) * kStages * WindowLayout<kDim>::kBytes;
  static_assert(kBytes <= (std::size_t{227} << 10));
  const auto kernel = attend_items<T, kDim, kIsPlain>;
  static const cudaError_t allowed =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes));
  check(allowed, "setting the shared memory of attention");
  // One block a multiprocessor; with fewer items than warps each block has as few as possible.
  const int n_blocks = std::min(work.n_processors, work.n_items);
  launch_dependent(kernel, dim3(static_cast<unsigned>(n_blocks)), dim3(kWarps * kWarp), kBytes, stream, out, prepared, q,
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
