// SPDX-License-Identifier: Apache-2.0
// Parts of the kernels for products with many rows: the shape of a block of threads, and the warps that copy weights and x
// into a ring of stages in shared memory. A stage has 64 k. The blocks of a cluster share copies: those with the same
// outputs share weights, those with the same rows share x; each copies a part for all of them.
#pragma once

#include <algorithm>

#include "kernels/cuda/layout/tile_order.h"
#include "kernels/cuda/layout/tile_split.h"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/exact_weights.cuh"
#include "kernels/cuda/ops/mbarrier.cuh"
#include "kernels/cuda/ops/ops.h"
#include "kernels/cuda/ops/registers.cuh"

namespace lathe::kernels::cuda {

inline constexpr int kStepsOfQuad = kQuad / kStep;
inline constexpr int kQuadsOfChunk = kChunk / kQuad;

/// Operands of a product as its kernel takes them.
struct ManyRows {
  const std::byte* weights;
  const std::byte* scales;
  const std::byte* x;
  const std::byte* unit_sums;  ///< sums of x over units, in the layout of unit_sum_place(); unused without an offset
  float4* handed;              ///< totals that a block hands to the next one
  unsigned* turns;             ///< for each warp that multiplies: 1 if its totals are in `handed`
  int n_row_tiles;             ///< of 8 rows
  int n_tiles;                 ///< of 16 outputs
  int n_quads;                 ///< of 64 k
  int n_scale_groups;
  int group_shift;  ///< log2 of the k of a group; 31: one group for the whole row
  TileOrder order;  ///< of the tiles of clusters
  TileSplit split;  ///< among clusters
  CodeConstants constants;
};

/// Shape of a block of threads: kGroups warpgroups of 64 outputs, each with kRowTiles tiles of 8 rows, and one of which
/// kCopyWarps warps copy. A cluster has kClusterOut x kClusterRow blocks.
template <int kGroupsOf, int kRowTilesOf, int kMostStagesOf, int kClusterOutOf = 1, int kClusterRowOf = 1,
          int kCopyWarpsOf = 4, int kBandOutputsOf = 1024>
struct ManyShape {
  static constexpr int kGroups = kGroupsOf, kRowTiles = kRowTilesOf, kMostStages = kMostStagesOf, kCopyWarps = kCopyWarpsOf;
  static constexpr int kClusterOut = kClusterOutOf, kClusterRow = kClusterRowOf, kCluster = kClusterOut * kClusterRow;
  static constexpr int kBandOutputs = kBandOutputsOf;
  static constexpr int kRows = kRowTiles * kRowTile;
  static constexpr int kTiles = kGroups * 4, kOutputs = kTiles * kTile;
  static constexpr int kConsumers = kGroups * 4;  // warps
  // The copying warps are in a warpgroup of their own, which leaves most of its registers to the others.
  static constexpr int kThreads = (kGroups + 1) * 4 * kWarp;
  static constexpr int kCopyRegisters = kGroups == 2 ? 40 : 32, kRegisters = kGroups == 2 ? 232 : 160;
  static constexpr int kTilesOfWarp = kTiles / kClusterRow / kCopyWarps,
                       kRowTilesOfWarp = kRowTiles / kClusterOut / kCopyWarps;
  static_assert(kTiles % (kClusterRow * kCopyWarps) == 0 && kRowTiles % (kClusterOut * kCopyWarps) == 0);
  static_assert(2 * kTilesOfWarp + 2 <= kWarp && kCopyWarps <= 4);
};

/// Sizes for weights of form F and shape S. Units: bytes.
template <class F, class S>
struct ManySizes {
  static constexpr int kStageUnits = std::max(1, kStepsOfQuad / F::kUnitSteps);
  static constexpr int kWeights = kStepsOfQuad * F::kStepBytes;                 // of one tile
  static constexpr int kScales = kStageUnits * F::kScaleBytes;                  // of one tile
  static constexpr int kSums = F::kHasOffset ? kStageUnits * kRowTile * 4 : 0;  // of one row tile
  // A stage: x, which begins at a multiple of 1024 bytes, weights, scales, sums of x.
  static constexpr int kWeightsAt = S::kRowTiles * kBlockBytes, kScalesAt = kWeightsAt + S::kTiles * kWeights;
  static constexpr int kSumsAt = kScalesAt + S::kTiles * kScales;
  static constexpr int kStage = (kSumsAt + S::kRowTiles * kSums + 1023) / 1024 * 1024;
  // Behind the stages: the codebook's table, and a full and an empty barrier for each stage.
  static constexpr int kTable = F::kHasBook ? kPairTableBytes : 0;
  static constexpr int kMost = (227 << 10) - 1024 - kTable;
  static constexpr int kStages = std::min(S::kMostStages, kMost / (kStage + 16));
  static constexpr int kTableAt = kStages * kStage, kBarriersAt = kTableAt + kTable;
  static constexpr std::size_t kShared = std::size_t{kBarriersAt} + kStages * 16 + 1024;
  static_assert(kStages >= 3 && kShared <= 227 << 10);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

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

/// The shared memory of a block. Z: ManySizes.
template <class S, class Z>
struct StageRing {
  std::uint32_t base;

  __device__ __forceinline__ explicit StageRing(const void* memory) : base((shared_address(memory) + 1023) & ~1023U) {}
  __device__ __forceinline__ std::uint32_t stage(int i) const { return base + i * Z::kStage; }
  __device__ __forceinline__ std::uint32_t full(int i) const { return base + Z::kBarriersAt + i * 16; }
  __device__ __forceinline__ std::uint32_t empty(int i) const { return full(i) + 8; }

  /// Requires: called by all threads of the cluster.
  __device__ __forceinline__ void init() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < Z::kStages; ++i) {
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

/// The place of this block in its cluster.
template <class S>
struct ClusterPlace {
  int out = 0, row = 0;
  __device__ __forceinline__ ClusterPlace() {
    if constexpr (S::kCluster > 1) {
      const int rank = static_cast<int>(rank_in_cluster());
      out = rank % S::kClusterOut;
      row = rank / S::kClusterOut;
    }
  }
  /// The block's place among the tiles of blocks. Blocks at the edge of the last cluster may have no outputs or no rows.
  __device__ __forceinline__ TilePlace of(const TileOrder& order, int tile) const {
    const TilePlace of_cluster = order.place(tile);
    return {of_cluster.out * S::kClusterOut + out, of_cluster.row * S::kClusterRow + row};
  }
};

template <class S>
__device__ __forceinline__ PartWalk parts_of_block(const TileSplit& split) {
  return PartWalk(split, static_cast<int>(blockIdx.x) / S::kCluster);
}

/// The quads of a part.
__device__ __forceinline__ int first_quad(const TilePart& part) { return part.begin * kQuadsOfChunk; }
__device__ __forceinline__ int end_quad(const TilePart& part, int n_quads) { return min(part.end * kQuadsOfChunk, n_quads); }

__device__ __forceinline__ int clamped(int number, int limit) { return min(max(number, 0), limit); }

/// Copies of one lane of a copying warp, for one tile of the block: weights or scales of a tile, rows of x or their sums, or
/// nothing. Z: ManySizes.
template <class F, class S, class Z>
struct StageCopies {
  static constexpr int kXLane = kWarp - 1, kSumsLane = kWarp - 2;
  const std::byte* from = nullptr;
  std::int64_t step = 0;  // bytes from one stage to the next, or to the next 2^shift
  int shift = 0;
  std::uint32_t to = 0, n_bytes = 0;
  std::uint32_t n_all = 0;  // bytes of a stage, with the copies of other warps and blocks
  std::uint16_t blocks = 1;

  __device__ __forceinline__ StageCopies(const ManyRows& p, const ClusterPlace<S>& at, const TilePlace& place, int warp,
                                         int lane) {
    const int first_tile = place.out * S::kTiles, n_tiles = clamped(p.n_tiles - first_tile, S::kTiles);
    const int first_row_tile = place.row * S::kRowTiles, n_row_tiles = clamped(p.n_row_tiles - first_row_tile, S::kRowTiles);
    n_all = n_tiles * (Z::kWeights + Z::kScales) + n_row_tiles * (kBlockBytes + Z::kSums);
    const int index = lane % S::kTilesOfWarp, kind = lane / S::kTilesOfWarp;
    const int tile = at.row * (S::kTiles / S::kClusterRow) + warp * S::kTilesOfWarp + index;
    if (kind < (F::kHasCodes ? 2 : 1)) {
      if (tile >= n_tiles) return;
      kind == 0 ? take_weights(p, first_tile + tile, tile) : take_scales(p, first_tile + tile, tile);
      for (int i = 1; i < S::kClusterRow; ++i) blocks |= 1U << i * S::kClusterOut;
      blocks <<= at.out;
    } else if (lane == kXLane) {
      const int begin = at.out * (S::kRowTiles / S::kClusterOut) + warp * S::kRowTilesOfWarp;
      from = p.x + static_cast<std::int64_t>(first_row_tile + begin) * kBlockBytes;
      step = static_cast<std::int64_t>(p.n_row_tiles) * kBlockBytes;
      to = begin * kBlockBytes;
      n_bytes = clamped(n_row_tiles - begin, S::kRowTilesOfWarp) * kBlockBytes;
      blocks = ((1U << S::kClusterOut) - 1) << at.row * S::kClusterOut;
    } else if (F::kHasOffset && lane == kSumsLane && warp == 0) {
      from = p.unit_sums + static_cast<std::int64_t>(first_row_tile) * Z::kSums;
      step = static_cast<std::int64_t>(p.n_row_tiles) * Z::kSums;
      shift = F::kUnitSteps <= 4 ? 0 : F::kUnitSteps == 8 ? 1 : 2;
      to = Z::kSumsAt;
      n_bytes = n_row_tiles * Z::kSums;
      blocks = 1U << (at.row * S::kClusterOut + at.out);
    }
  }

  __device__ __forceinline__ void copy(const StageRing<S, Z>& ring, int stage, int quad) const {
    if (n_bytes == 0) return;
    const std::byte* const source = from + (quad >> shift) * step;
    if constexpr (S::kCluster > 1) {
      copy_bulk(ring.stage(stage) + to, source, n_bytes, ring.full(stage), blocks);
    } else {
      copy_bulk(ring.stage(stage) + to, source, n_bytes, ring.full(stage));
    }
  }

 private:
  __device__ __forceinline__ void take_weights(const ManyRows& p, int tile, int in_block) {
    from = p.weights + static_cast<std::int64_t>(tile) * p.n_quads * Z::kWeights;
    step = n_bytes = Z::kWeights;
    to = Z::kWeightsAt + in_block * Z::kWeights;
  }
  __device__ __forceinline__ void take_scales(const ManyRows& p, int tile, int in_block) {
    from = p.scales + static_cast<std::int64_t>(tile) * p.n_scale_groups * F::kScaleBytes;
    step = n_bytes = Z::kScales;
    shift = max(p.group_shift - 6, 0);
    to = Z::kScalesAt + in_block * Z::kScales;
  }
};

/// The work of a copying warp: fills the ring with the stages of all tiles of the block, as consumers empty it. Weights of
/// the first stages are copied while the kernels before this one end.
template <class F, class S, class Z>
__device__ __forceinline__ void copy_stages(const ManyRows& p, const StageRing<S, Z>& ring) {
  using Copies = StageCopies<F, S, Z>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp - S::kConsumers;
  const bool expects = warp == 0 && lane == 0, copies_weights = lane < Copies::kSumsLane;
  const ClusterPlace<S> at_cluster;
  StageCursor<Z::kStages> at;
  bool is_first = true;
  for (PartWalk walk = parts_of_block<S>(p.split); walk.has_part(); walk.advance()) {
    const int begin = first_quad(walk.part()), end = end_quad(walk.part(), p.n_quads);
    const Copies copies(p, at_cluster, at_cluster.of(p.order, walk.part().tile), warp, lane);
    int n_early = 0;
    if (is_first) {
      n_early = min(Z::kStages, end - begin);
      for (int i = 0; i < n_early; ++i) {
        if (expects) arrive_expecting(ring.full(i), copies.n_all);
        if (copies_weights) copies.copy(ring, i, begin + i);
      }
      wait_for_previous();
      is_first = false;
    }
    for (int quad = begin; quad < end; ++quad) {
      if (quad < begin + n_early) {
        if (!copies_weights) copies.copy(ring, at.stage, quad);
      } else {
        wait_phase(ring.empty(at.stage), at.parity ^ 1);
        if (expects) arrive_expecting(ring.full(at.stage), copies.n_all);
        copies.copy(ring, at.stage, quad);
      }
      at.advance();
    }
  }
}

/// Tells the copying warps that write into this block, and its own, that a warp has read a stage.
template <class S, class Z>
struct StageReleases {
  std::uint32_t first = 0;  // the empty barrier of stage 0 of the block that this lane tells

  __device__ __forceinline__ StageReleases(const StageRing<S, Z>& ring, const ClusterPlace<S>& at, int lane) {
    first = ring.empty(0);
    if constexpr (S::kCluster > 1) {
      // Lanes below kClusterRow: the blocks with the same outputs. Then the other ones with the same rows.
      int out = at.out, row = lane;
      if (lane >= S::kClusterRow) {
        row = at.row;
        out = lane - S::kClusterRow;
        if (out >= at.out) ++out;
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
