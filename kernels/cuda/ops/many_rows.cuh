// SPDX-License-Identifier: Apache-2.0
// Parts of the kernels for products with many rows: the shape of a block of threads, and the warp that copies weights and x
// into a ring of stages in shared memory. A stage has 64 k. The blocks of a cluster share copies: those with the same
// outputs share weights, those with the same rows share x; each copies a part for all of them.
#pragma once

#include "kernels/cuda/layout/tile_order.h"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/mbarrier.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// Operands of a product as its kernel takes them.
struct ManyRows {
  float* out;
  std::int64_t stride;
  const std::uint8_t* weights;
  const std::uint8_t* x;
  const float* bias;  ///< null: none
  int n_rows, n_outputs;
  int n_row_tiles;  ///< of 8 rows
  int n_tiles;      ///< of 16 outputs
  int n_quads;      ///< of 64 k
  TileOrder order;  ///< of the tiles of clusters
};

/// Shape of a block of threads: kGroups warpgroups of 64 outputs, each with kRowTiles tiles of 8 rows, and one that copies.
/// kQuadBytes: bytes of 16 outputs and 64 k of weights. A cluster has kClusterOut x kClusterRow blocks.
template <int kGroupsOfBlock, int kRowTilesOfBlock, int kStagesOfRing, int kClusterOuts, int kClusterRows,
          int kQuadBytesOfTile>
struct ManyShape {
  static constexpr int kGroups = kGroupsOfBlock, kRowTiles = kRowTilesOfBlock, kStages = kStagesOfRing;
  static constexpr int kClusterOut = kClusterOuts, kClusterRow = kClusterRows, kCluster = kClusterOut * kClusterRow;
  static constexpr int kRows = kRowTiles * kRowTile;
  static constexpr int kTiles = kGroups * 4, kOutputs = kTiles * kTile;
  static constexpr int kQuadBytes = kQuadBytesOfTile;
  static constexpr int kXBytes = kRowTiles * kBlockBytes, kStageBytes = kXBytes + kTiles * kQuadBytes;
  static constexpr int kConsumers = kGroups * 4;  // warps
  // The copying warp is in a warpgroup of its own, which leaves most of its registers to the others.
  static constexpr int kThreads = (kGroups + 1) * 4 * kWarp;
  static constexpr int kCopyRegisters = kGroups == 2 ? 40 : 32, kRegisters = kGroups == 2 ? 232 : 160;
  // Stages begin at a multiple of 1024 bytes; behind them are a full and an empty barrier for each.
  static constexpr std::size_t kSharedBytes = std::size_t{kStages} * kStageBytes + 1024 + kStages * 16;
  static_assert(kStageBytes % 1024 == 0 && kSharedBytes <= 227 << 10);
  static_assert(kTiles % kClusterRow == 0 && kRowTiles % kClusterOut == 0 && kTiles / kClusterRow < kWarp);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Gives registers of the warpgroup's threads back until they have kCount.
template <int kCount>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kCount));
}
/// Waits for registers that other warpgroups give back until threads have kCount.
template <int kCount>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kCount));
}

/// A position in the ring of stages.
template <int kStages>
struct StageCursor {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

/// The ring in the shared memory of a block.
template <class S>
struct StageRing {
  std::uint32_t base;

  __device__ __forceinline__ explicit StageRing(const void* memory) : base((shared_address(memory) + 1023) & ~1023U) {}
  __device__ __forceinline__ std::uint32_t x(int stage) const { return base + stage * S::kStageBytes; }
  __device__ __forceinline__ std::uint32_t weights(int stage) const { return x(stage) + S::kXBytes; }
  __device__ __forceinline__ std::uint32_t full(int stage) const { return base + S::kStages * S::kStageBytes + stage * 16; }
  __device__ __forceinline__ std::uint32_t empty(int stage) const { return full(stage) + 8; }

  /// Requires: called by all threads of the cluster.
  __device__ __forceinline__ void init() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < S::kStages; ++i) {
        init_barrier(full(i), 1);
        init_barrier(empty(i), S::kConsumers * (S::kClusterOut + S::kClusterRow - 1));
      }
      publish_barriers();
    }
    if constexpr (S::kCluster > 1) {
      sync_cluster();
    } else {
      __syncthreads();
    }
  }
};

/// The tiles of a block: which it computes, one after the other.
template <class S>
struct TileWalk {
  const TileOrder& order;
  int out_in_cluster = 0, row_in_cluster = 0;
  int item, step;

  __device__ __forceinline__ explicit TileWalk(const TileOrder& of)
      : order(of), item(static_cast<int>(blockIdx.x) / S::kCluster), step(static_cast<int>(gridDim.x) / S::kCluster) {
    if constexpr (S::kCluster > 1) {
      const int rank = static_cast<int>(rank_in_cluster());
      out_in_cluster = rank % S::kClusterOut;
      row_in_cluster = rank / S::kClusterOut;
    }
  }
  __device__ __forceinline__ bool has_tile() const { return item < order.n_tiles(); }
  __device__ __forceinline__ int n_left() const { return (order.n_tiles() - item + step - 1) / step; }
  __device__ __forceinline__ void advance() { item += step; }
  /// In tiles of blocks. Blocks at the edge of the last cluster may have no outputs or no rows.
  __device__ __forceinline__ TilePlace place() const {
    const TilePlace of_cluster = order.place(item);
    return {of_cluster.out * S::kClusterOut + out_in_cluster, of_cluster.row * S::kClusterRow + row_in_cluster};
  }
};

__device__ __forceinline__ int clamped(int number, int limit) { return min(max(number, 0), limit); }

/// Copies of one lane of the copying warp, for one tile of the block: a tile of weights or rows of x, or nothing.
template <class S>
struct StageCopies {
  static constexpr int kOwnTiles = S::kTiles / S::kClusterRow, kOwnRowTiles = S::kRowTiles / S::kClusterOut;
  static constexpr int kXLane = kWarp - 1;
  const std::uint8_t* from = nullptr;
  std::int64_t step = 0;  // bytes from one stage to the next
  std::uint32_t to = 0, n_bytes = 0;
  std::uint32_t n_all = 0;  // bytes of a stage, with the copies of other blocks
  std::uint16_t blocks = 1;

  __device__ __forceinline__ StageCopies(const ManyRows& p, const TileWalk<S>& walk, int lane) {
    const TilePlace place = walk.place();
    const int first_tile = place.out * S::kTiles, first_row_tile = place.row * S::kRowTiles;
    const int n_tiles = clamped(p.n_tiles - first_tile, S::kTiles);
    const int n_row_tiles = clamped(p.n_row_tiles - first_row_tile, S::kRowTiles);
    n_all = n_tiles * S::kQuadBytes + n_row_tiles * kBlockBytes;
    if (lane < kOwnTiles) {
      const int tile = walk.row_in_cluster * kOwnTiles + lane;
      if (tile >= n_tiles) return;
      from = p.weights + static_cast<std::int64_t>(first_tile + tile) * p.n_quads * S::kQuadBytes;
      step = S::kQuadBytes;
      to = S::kXBytes + tile * S::kQuadBytes;
      n_bytes = S::kQuadBytes;
      for (int i = 1; i < S::kClusterRow; ++i) blocks |= 1U << i * S::kClusterOut;
      blocks <<= walk.out_in_cluster;
    } else if (lane == kXLane) {
      const int begin = walk.out_in_cluster * kOwnRowTiles;
      from = p.x + static_cast<std::int64_t>(first_row_tile + begin) * kBlockBytes;
      step = static_cast<std::int64_t>(p.n_row_tiles) * kBlockBytes;
      to = begin * kBlockBytes;
      n_bytes = clamped(n_row_tiles - begin, kOwnRowTiles) * kBlockBytes;
      blocks = ((1U << S::kClusterOut) - 1) << walk.row_in_cluster * S::kClusterOut;
    }
  }

  __device__ __forceinline__ void copy(const StageRing<S>& ring, int stage, int quad) const {
    if (n_bytes == 0) return;
    if constexpr (S::kCluster > 1) {
      copy_bulk(ring.x(stage) + to, from + quad * step, n_bytes, ring.full(stage), blocks);
    } else {
      copy_bulk(ring.x(stage) + to, from + quad * step, n_bytes, ring.full(stage));
    }
  }
};

/// What the copying warp does: fills the ring with the stages of all tiles of the block, as consumers empty it. Weights of
/// the first stages are copied while the kernels before this one end.
template <class S>
__device__ __forceinline__ void copy_stages(const ManyRows& p, const StageRing<S>& ring) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool copies_x = lane == StageCopies<S>::kXLane;
  StageCursor<S::kStages> at;
  int n_early = min(S::kStages, p.n_quads);
  for (TileWalk<S> walk(p.order); walk.has_tile(); walk.advance()) {
    const StageCopies<S> copies(p, walk, lane);
    if (n_early > 0) {
      for (int quad = 0; quad < n_early; ++quad) {
        if (lane == 0) arrive_expecting(ring.full(quad), copies.n_all);
        if (!copies_x) copies.copy(ring, quad, quad);
      }
      wait_for_previous();
    }
    for (int quad = 0; quad < p.n_quads; ++quad) {
      if (quad < n_early) {
        if (copies_x) copies.copy(ring, at.stage, quad);
      } else {
        wait_phase(ring.empty(at.stage), at.parity ^ 1);
        if (lane == 0) arrive_expecting(ring.full(at.stage), copies.n_all);
        copies.copy(ring, at.stage, quad);
      }
      at.advance();
    }
    n_early = 0;
  }
}

/// Tells the copying warps that write into this block, and its own, that a warp has read a stage.
template <class S>
struct StageReleases {
  std::uint32_t first = 0;  // the empty barrier of stage 0 of the block that this lane tells

  __device__ __forceinline__ StageReleases(const StageRing<S>& ring, const TileWalk<S>& walk, int lane) {
    first = ring.empty(0);
    if constexpr (S::kCluster > 1) {
      // Lanes below kClusterRow: the blocks with the same outputs. Then the other ones with the same rows.
      int out = walk.out_in_cluster, row = lane;
      if (lane >= S::kClusterRow) {
        row = walk.row_in_cluster;
        out = lane - S::kClusterRow;
        if (out >= walk.out_in_cluster) ++out;
      }
      if (lane < S::kClusterOut + S::kClusterRow - 1) first = in_block(first, row * S::kClusterOut + out);
    }
  }
  __device__ __forceinline__ void release(int stage, int lane) const {
    __syncwarp();
    if constexpr (S::kCluster > 1) {
      if (lane < S::kClusterOut + S::kClusterRow - 1) arrive_in_cluster(first + stage * 16);
    } else {
      if (lane == 0) arrive(first + stage * 16);
    }
  }
};

#endif

}  // namespace lathe::kernels::cuda
