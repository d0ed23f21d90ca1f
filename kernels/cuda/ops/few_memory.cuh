// SPDX-License-Identifier: Apache-2.0
// Attention of few rows: items of a block, its shared memory, and the tasks of its warps. Warps that copy bring windows of K
// and V; warps that multiply compute spans of some windows together; warps that merge plan the next items, bring their
// queries, and merge the parts of a tile.
#pragma once

#include "kernels/cuda/ops/attention_part.cuh"
#include "kernels/cuda/ops/mbarrier.cuh"
#include "kernels/cuda/ops/tensor_attention.h"

namespace lathe::kernels::cuda {

inline constexpr int kFewWarps = 8, kFewThreads = kFewWarps * kWarp;  ///< those that multiply, the first of a block
inline constexpr int kCopyingWarps = 4;                               ///< two for K, then two for V
inline constexpr int kMergingThreads = 4 * kWarp;
inline constexpr int kFirstCopying = kFewThreads, kFirstMerging = kFirstCopying + kCopyingWarps * kWarp,
                     kFewBlock = kFirstMerging + kMergingThreads;
/// Items of a block in shared memory, and how many items ahead they are planned: the copies are at most a ring of windows
/// ahead, which has at most kMostWindows, and look one item further.
inline constexpr int kMostWindows = 8, kAhead = kMostWindows + 4, kPlanned = kAhead + 6;

/// An item and the queries of its tile.
struct alignas(16) ItemWork {
  TileQueries of;
  int index;       ///< the item, in TensorWork::n_items
  int first_item;  ///< the first item of its tile
  int n_parts, ticket;
  bool merges;      ///< it is the last item of several of its tile, whose block merges them
  int begin, end;   ///< tokens of the part that some row of the tile attends to
  int first, last;  ///< tokens that all rows attend to

  __device__ ItemWork(const AttentionItem& item, int at, const TensorWork& work, const AttentionRows& rows)
      : of(item.tile, at % work.n_head_items, work.n_chunks, work.group, kQueryTile),
        index(at),
        first_item(at - (item.part - item.first_part) * work.n_head_items),
        n_parts(item.n_parts),
        ticket(item.index * work.n_head_items + at % work.n_head_items),
        merges(item.n_parts > 1 && item.part - item.first_part == item.n_parts - 1),
        begin(max(item.part * kAttentionPart, of.first_from(rows, 0))),
        end(min((item.part + 1) * kAttentionPart, of.last_to(rows, of.n_queries - 1) + 1)),
        first(of.first_from(rows, of.n_queries - 1)),
        last(of.last_to(rows, 0)) {}
};

/// Shared memory of a block.
template <int kDim>
struct FewMemory {
  static constexpr int kSpan = kDim <= 128 ? kAttentionPart : kAttentionPart / 2;  ///< tokens computed at a time
  static constexpr int kStrip = kSpan / kFewWarps;                                 ///< tokens of a warp
  static constexpr int kWindows = kSpan / kScoreWindow;
  static constexpr int kStrips = kScoreWindow / kStrip;                  ///< of a window
  static constexpr int kTiles = (kDim / 8 + kFewWarps - 1) / kFewWarps;  ///< columns of a warp / 8
  static constexpr int kRowBytes = WindowLayout<kDim>::kRowBytes, kWindowBytes = WindowLayout<kDim>::kBytes;

  static constexpr int kWeights = 0, kQueries = kWeights + kSpan * kQueryTile * 2,
                       kHighest = kQueries + 2 * kQueryTile * kRowBytes, kSums = kHighest + kQueryTile * kFewWarps * 4,
                       kItems = kSums + kFewWarps * kWarp * 8,
                       kIsComplete = kItems + kPlanned * static_cast<int>(sizeof(ItemWork)), kBarriers = kIsComplete + 16,
                       kRings = kBarriers + 2 * kMostWindows * 16;
  /// Windows of K, and of V. A warp needs K of a span long before it has read all V of the span before, whose places V of
  /// this span takes: two spans of K and one of V are equally far ahead.
  static constexpr int kAllWindows = ((227 << 10) - kRings) / kWindowBytes,
                       kValueWindows = std::min(kMostWindows, std::max(kWindows, kAllWindows / 3)),
                       kKeyWindows = std::min(kMostWindows, kAllWindows - kValueWindows);
  static constexpr int kBytes = kRings + (kKeyWindows + kValueWindows) * kWindowBytes;
  static_assert(kKeyWindows >= kWindows && kRings % 16 == 0 && kStrip % 16 == 0);

  char* base;
  __device__ uint4& weights(int tokens16, int lane) const {
    return reinterpret_cast<uint4*>(base + kWeights)[tokens16 * kWarp + lane];
  }
  __device__ float* highest(int query) const { return reinterpret_cast<float*>(base + kHighest) + query * kFewWarps; }
  __device__ float2& sums(int strip, int lane) const {
    return reinterpret_cast<float2*>(base + kSums)[strip * kWarp + lane];
  }
  __device__ ItemWork& item(int n) const { return reinterpret_cast<ItemWork*>(base + kItems)[n % kPlanned]; }
  __device__ int& is_complete() const { return *reinterpret_cast<int*>(base + kIsComplete); }
  __device__ char* queries(int n) const { return base + kQueries + n % 2 * (kQueryTile * kRowBytes); }
};

/// Windows of K or of V on their way from the warps that copy to those that multiply. All windows of all items are counted.
template <int kDim, bool kIsV>
class WindowRing {
  using Memory = FewMemory<kDim>;
  static constexpr int kN = kIsV ? Memory::kValueWindows : Memory::kKeyWindows;
  static constexpr int kWindow = Memory::kWindowBytes;
  static constexpr int kFirst = Memory::kRings + (kIsV ? Memory::kKeyWindows * kWindow : 0);
  static constexpr int kReaders = kIsV ? kFewWarps : Memory::kStrips;  ///< warps that read a window

 public:
  __device__ explicit WindowRing(const Memory& memory) : base_(shared_address(memory.base)) {}
  __device__ void begin() const {
    for (int i = 0; i < kN; ++i) {
      init_barrier(full(i), kCopyingWarps / 2 * kWarp);
      init_barrier(full(i) + 8, kReaders);
    }
  }
  /// Waits until window `count` may be written. Returns its place.
  __device__ std::uint32_t wait_empty(int count) const {
    wait_phase(full(count % kN) + 8, count / kN % 2 ^ 1);
    return base_ + kFirst + count % kN * kWindow;
  }
  /// To call after the copies of a window.
  __device__ void fill(int count) const { arrive_after_copies(full(count % kN)); }
  /// Waits until window `count` has arrived. Returns its place.
  __device__ std::uint32_t wait_full(int count) const {
    wait_phase(full(count % kN), count / kN % 2);
    return base_ + kFirst + count % kN * kWindow;
  }
  /// One warp: it has read the window.
  __device__ void release(int count) const {
    __syncwarp();
    if (threadIdx.x % kWarp == 0) arrive(full(count % kN) + 8);
  }

 private:
  __device__ std::uint32_t full(int i) const { return base_ + Memory::kBarriers + ((kIsV ? kMostWindows : 0) + i) * 16; }
  std::uint32_t base_;
};

/// Waits for all threads of some warps. kCompute: those that multiply and those that merge; before it the largest scores of
/// a span and the parts of the item before are written. kMultiply: before it the weights of a span are written.
enum Barrier { kBlock = 0, kCompute = 1, kMultiply = 2, kMerge = 3 };
template <Barrier kBarrier>
__device__ inline void synchronize() {
  constexpr int kThreads = kBarrier == kBlock      ? kFewBlock
                           : kBarrier == kCompute  ? kFewThreads + kMergingThreads
                           : kBarrier == kMultiply ? kFewThreads
                                                   : kMergingThreads;
  asm volatile("bar.sync %0, %1;\n" ::"n"(static_cast<int>(kBarrier)), "n"(kThreads) : "memory");
}

__device__ inline int item_of_block(int n) { return static_cast<int>(blockIdx.x) + n * static_cast<int>(gridDim.x); }
__device__ inline bool has_item(const TensorWork& work, int n) { return item_of_block(n) < work.n_items; }

/// Writes item n of the block to shared memory.
template <int kDim>
__device__ inline void plan_item(const FewMemory<kDim>& memory, const TensorWork& work, const AttentionRows& rows, int n) {
  const int at = item_of_block(n);
  if (at < work.n_items) memory.item(n) = ItemWork(work.items[at / work.n_head_items], at, work, rows);
}

/// Address of the part of query i of an item.
template <int kDim>
__device__ inline float* part_of(const TensorWork& work, std::int64_t item, int i) {
  return work.partials + (item * work.n_few_queries + i) * part_floats(kDim);
}

}  // namespace lathe::kernels::cuda
