// SPDX-License-Identifier: Apache-2.0
// Attention of few rows over long contexts. A block takes items (a part of the context of some queries); the parts of a tile
// are merged in order by the block that has its last part. Source: Dao et al. 2023, Flash-Decoding.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/few_products.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"
#include "kernels/cuda/ops/tensor_form.cuh"

namespace lathe::kernels::cuda {
namespace {

/// Places of the tokens of windows in the cache, for half a window of a warp; a lane has a token. A place is looked up one
/// window before it is used.
template <class T, int kDim>
class WindowPlaces {
 public:
  __device__ WindowPlaces(const KvHalf<T>& half, const FewMemory<kDim>& memory, const TensorWork& work,
                          const AttentionRows& rows, int first)
      : half_(half), memory_(memory), work_(work), rows_(rows), first_(first) {
    token_ = memory.item(0).begin / kScoreWindow * kScoreWindow;
    look_up();
  }
  __device__ bool has_next() const { return has_item(work_, n_); }
  /// The head of this lane's token: its index in KvHalf::numbers / kDim. Requires: has_next().
  __device__ int next() {
    const int head = block_ * (half_.n_kv_heads * half_.block_size) + of_block_;
    token_ += kScoreWindow;
    if (token_ >= memory_.item(n_).end) {
      ++n_;
      if (has_next()) token_ = memory_.item(n_).begin / kScoreWindow * kScoreWindow;
    }
    if (has_next()) look_up();
    return head;
  }

 private:
  /// Tokens outside of the item take the place of its nearest token, so that V has numbers for weights that are 0.
  __device__ void look_up() {
    const ItemWork& item = memory_.item(n_);
    const int at = min(max(token_ + first_, item.begin), item.end - 1);
    const int block = static_cast<int>(static_cast<unsigned>(at) / static_cast<unsigned>(half_.block_size));
    block_ = rows_.block_tables[static_cast<std::int64_t>(item.of.tile.seq) * rows_.max_blocks + block];
    of_block_ = item.of.kv_head * half_.block_size + at - block * half_.block_size;
  }

  const KvHalf<T>& half_;
  const FewMemory<kDim>& memory_;
  const TensorWork& work_;
  const AttentionRows& rows_;
  int first_, n_ = 0, token_;
  int block_, of_block_;
};

/// Asks for the first windows in the L2 cache, where writes of earlier kernels can be seen later.
template <class T, int kDim>
__device__ inline void prefetch(const T* numbers, WindowPlaces<T, kDim> places) {
#pragma unroll 1
  for (int i = 0; i < FewMemory<kDim>::kWindows && places.has_next(); ++i) {
    const T* const row = numbers + static_cast<std::int64_t>(places.next()) * kDim;
#pragma unroll
    for (int d = 0; d < kDim; d += 64) asm volatile("prefetch.global.L2 [%0];\n" ::"l"(row + d));
  }
}

/// Copies K or V of the windows of all items. One of two warps, which have half of each window.
template <class T, int kDim, bool kIsV>
__device__ void copy_windows(const FewMemory<kDim>& memory, const KvHalf<T>& half, const TensorWork& work,
                             const AttentionRows& rows) {
  constexpr int kPieces = WindowLayout<kDim>::kPieces, kRowBytes = WindowLayout<kDim>::kRowBytes, kTokens = kWarp;
  // Adjacent lanes have adjacent vectors of a row: as many as a power of 2 allows.
  constexpr int kLanes = kPieces & -kPieces, kRows = kWarp / kLanes;
  static_assert(kTokens % kRows == 0 && kLanes <= kWarp && 2 * kTokens == kScoreWindow);
  const WindowRing<kDim, kIsV> ring(memory);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, first = static_cast<int>(threadIdx.x) / kWarp % 2 * kTokens;
  WindowPlaces<T, kDim> places(half, memory, work, rows, first + lane);
  prefetch(half.numbers, places);
  wait_for_previous();
  const T* const from = half.numbers + lane % kLanes * 8;
  const int offset = (first + lane / kLanes) * kRowBytes + lane % kLanes * 16;
  for (int count = 0; places.has_next(); ++count) {
    const std::uint32_t to = ring.wait_empty(count) + offset;
    const int head = places.next();
#pragma unroll
    for (int row = 0; row < kTokens; row += kRows) {
      const T* const of_row = from + static_cast<std::int64_t>(__shfl_sync(kAllLanes, head, row + lane / kLanes)) * kDim;
#pragma unroll
      for (int piece = 0; piece < kPieces; piece += kLanes)
        copy_async(to + row * kRowBytes + piece * 16, of_row + piece * 8);
    }
    ring.fill(count);
  }
  asm volatile("cp.async.wait_all;\n" ::: "memory");
}

/// Multiplies the items. The warps that multiply.
template <class T, int kDim, bool kIsPlain>
__device__ void multiply_items(const FewMemory<kDim>& memory, const Rows& out, const PreparedX& prepared,
                               const AttentionRows& rows, const TensorWork& work) {
  constexpr int kSpan = FewMemory<kDim>::kSpan;
  ItemProducts<T, kDim, kIsPlain> products(memory, rows);
  wait_for_previous();
  synchronize<kCompute>();  // the first queries are there
  int count = 0;
  for (int n = 0; has_item(work, n); ++n) {
    const ItemWork& item = memory.item(n);
    products.begin(item);
    const int begin = item.begin / kScoreWindow * kScoreWindow;
    for (int token = begin / kSpan * kSpan; token < item.end; token += kSpan) {
      const int first = count + (token - begin) / kScoreWindow;
      products.score(item, n, token, first);
      synchronize<kCompute>();
      products.weigh();
      synchronize<kMultiply>();
      products.add_values(item, token, first);
    }
    count += (item.end - begin + kScoreWindow - 1) / kScoreWindow;
    item.n_parts == 1 ? products.finish(out, prepared) : products.keep(item, work);
  }
  synchronize<kCompute>();
}

/// Queries of an item on their way to shared memory, pairs of elements spread over the warps that merge but the first, which
/// counts parts meanwhile; missing queries are zeros.
template <class T, int kDim>
struct QueryPairs {
  static constexpr int kThreads = kMergingThreads - kWarp, kPairs = kDim / 2,
                       kHeld = (kQueryTile * kPairs + kThreads - 1) / kThreads;
  float2 pairs[kHeld];

  __device__ static int place(int i) { return static_cast<int>(threadIdx.x) - kFirstMerging - kWarp + i * kThreads; }
  __device__ void load(const Rows& q, const ItemWork& item, const AttentionRows& rows) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      pairs[i] = {0, 0};
      if (place(i) / kPairs >= item.of.n_queries) continue;
      const Query query = item.of.query(rows, place(i) / kPairs);
      pairs[i] = *reinterpret_cast<const float2*>(q.data + query.row * q.stride +
                                                  static_cast<std::int64_t>(query.head) * kDim + place(i) % kPairs * 2);
    }
  }
  __device__ void store(char* to) const {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      if (place(i) < kQueryTile * kPairs)
        *reinterpret_cast<std::uint32_t*>(to + place(i) / kPairs * WindowLayout<kDim>::kRowBytes + place(i) % kPairs * 4) =
            packed_as<T>(pairs[i].x, pairs[i].y);
  }
};

constexpr int kMergedParts = 6;  ///< loads that a thread has under way

/// Merges the parts of a tile in order. A thread has vectors of 4 elements of queries.
template <int kDim>
__device__ void merge_items(const Rows& out, const PreparedX& prepared, const ItemWork& item, const AttentionRows& rows,
                            const TensorWork& work) {
  constexpr int kVectors = kDim / 4;
  const std::int64_t stride = static_cast<std::int64_t>(work.n_head_items) * work.n_few_queries * part_floats(kDim);
  for (int at = static_cast<int>(threadIdx.x) - kFirstMerging; at < item.of.n_queries * kVectors; at += kMergingThreads) {
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

/// Counts a part that is stored.
__device__ inline void count_part(const ItemWork& item, const TensorWork& work) {
  if (item.n_parts == 1 || threadIdx.x != kFirstMerging) return;
  asm volatile("fence.acq_rel.gpu;\n red.relaxed.gpu.global.add.s32 [%0], 1;\n" ::"l"(work.tickets + item.ticket)
               : "memory");
}

/// Merges the parts of a tile if all are stored; `waits`: when all are stored. Returns whether it has. Blocks take items in
/// order, so the parts that are awaited do not wait for this block.
template <int kDim>
__device__ bool merge_stored(const FewMemory<kDim>& memory, const Rows& out, const PreparedX& prepared, const ItemWork& item,
                             const AttentionRows& rows, const TensorWork& work, bool waits) {
  if (threadIdx.x == kFirstMerging) {
    int* const counter = work.tickets + item.ticket;
    int n_stored = 0;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];\n" : "=r"(n_stored) : "l"(counter) : "memory");
    } while (waits && n_stored < item.n_parts);
    if (n_stored == item.n_parts) *counter = 0;
    memory.is_complete() = n_stored == item.n_parts;
  }
  synchronize<kMerge>();
  const bool is_complete = memory.is_complete() != 0;
  if (is_complete) {
    merge_items<kDim>(out, prepared, item, rows, work);
    synchronize<kMerge>();  // everybody has read the item and is_complete()
  }
  return is_complete;
}

/// Serves the warps that multiply. The warps that merge.
template <class T, int kDim>
__device__ void serve_items(const FewMemory<kDim>& memory, const Rows& out, const PreparedX& prepared, const Rows& q,
                            const AttentionRows& rows, const TensorWork& work) {
  constexpr int kSpan = FewMemory<kDim>::kSpan;
  wait_for_previous();
  int merging = -1;  // an item whose tile is to be merged
  bool is_over = false;
  // The queries of an item are written when those of two items before have been read; n is -2 and -1 for the first two.
  for (int n = -2; !is_over; ++n) {
    is_over = n >= 0 && !has_item(work, n);
    const bool is_item = n >= 0 && !is_over;
    const int begin = is_item ? memory.item(n).begin / kSpan * kSpan : 0, end = is_item ? memory.item(n).end : 1;
    for (int token = begin; token < end; token += kSpan) {
      if (n > -2) synchronize<kCompute>();
      if (token + kSpan >= end && has_item(work, n + 2) && threadIdx.x >= kFirstMerging + kWarp) {
        QueryPairs<T, kDim> pairs;
        pairs.load(q, memory.item(n + 2), rows);
        pairs.store(memory.queries(n + 2));
      }
      if (token == begin && n > 0) {
        count_part(memory.item(n - 1), work);
        bool is_new = memory.item(n - 1).merges;
        while (merging >= 0 || is_new) {
          if (merging < 0) {
            merging = n - 1;
            is_new = false;
          }
          const bool waits = is_new || is_over || n - merging >= kPlanned - kAhead;
          if (!merge_stored(memory, out, prepared, memory.item(merging), rows, work, waits)) break;
          merging = -1;
        }
      }
      if (token == begin && is_item && threadIdx.x == kFirstMerging + kWarp) plan_item(memory, work, rows, n + kAhead);
    }
  }
}

template <class T, int kDim, bool kIsPlain>
__global__ void __launch_bounds__(kFewBlock, 1)
    attend_items(const __grid_constant__ Rows out, const __grid_constant__ PreparedX prepared,
                 const __grid_constant__ Rows q, const __grid_constant__ KvHalf<T> k, const __grid_constant__ KvHalf<T> v,
                 const __grid_constant__ AttentionRows rows, const __grid_constant__ TensorWork work) {
  using Memory = FewMemory<kDim>;
  extern __shared__ uint4 shared[];
  const Memory memory{reinterpret_cast<char*>(shared)};
  let_next_begin();
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kAhead) plan_item(memory, work, rows, thread);
  if (thread == kFirstMerging) {
    WindowRing<kDim, false>(memory).begin();
    WindowRing<kDim, true>(memory).begin();
    publish_barriers();
  }
  synchronize<kBlock>();
  if (thread < kFewThreads) {
    multiply_items<T, kDim, kIsPlain>(memory, out, prepared, rows, work);
  } else if (thread < kFirstCopying + kCopyingWarps / 2 * kWarp) {
    copy_windows<T, kDim, false>(memory, k, work, rows);
  } else if (thread < kFirstMerging) {
    copy_windows<T, kDim, true>(memory, v, work, rows);
  } else {
    serve_items<T, kDim>(memory, out, prepared, q, rows, work);
  }
}

template <class T, int kDim, bool kIsPlain>
void launch(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
            const AttentionRows& rows, const TensorWork& work) {
  constexpr int kBytes = FewMemory<kDim>::kBytes;
  static_assert(kBytes <= 227 << 10);
  const auto kernel = attend_items<T, kDim, kIsPlain>;
  const cudaError_t allowed =
      once_per_device([&] { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes); });
  check(allowed, "setting the shared memory of attention");
  const int n_blocks = std::min(work.n_processors, work.n_items);
  launch_dependent(kernel, dim3(static_cast<unsigned>(n_blocks)), dim3(kFewBlock), kBytes, stream, out, prepared, q,
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
