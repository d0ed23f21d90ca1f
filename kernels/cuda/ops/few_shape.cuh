// SPDX-License-Identifier: Apache-2.0
// Operands of a product with few rows, its division among warps, and the sizes that follow.
#pragma once

#include <algorithm>

#include "kernels/cuda/ops/exact_weights.cuh"

namespace lathe::kernels::cuda {

/// Matrices in tiles, and x. Two matrices have the same layout.
struct FewProduct {
  const std::byte* weights[2];
  const std::byte* scales[2];
  const uint2* x;
  int n_rows;
  int n_steps;
  int n_tiles;
  int n_scale_groups;
  int group_shift;  ///< log2 of the k of a group; 31: one group for the whole row
  CodeConstants constants;
};

/// Division of a product among warps. kTiles: tiles of 16 outputs of a warp; kWarps: most warps of a block; kStages: stages
/// of a warp's WeightRing, 0 if registers hold the weights of its next chunk.
template <int kRowTilesOf, int kTilesOf, int kWarpsOf, int kMostSumsOf, int kAheadOf, int kStagesOf = 0>
struct FewCut {
  static constexpr int kRowTiles = kRowTilesOf, kTiles = kTilesOf, kWarps = kWarpsOf, kStages = kStagesOf;
  static constexpr int kMostSums = kMostSumsOf;  ///< fragments of sums that registers hold
  static constexpr int kAhead = kAheadOf;        ///< steps of x that are loaded ahead
  static constexpr int kThreads = kWarps * kWarp;
};

template <class F, class C>
struct FewSizes {
  /// Units of a chunk: as many as registers hold the sums of, and the weights of all tiles (but at least one).
  static constexpr int kMostUnits = (F::kHasOffset ? C::kMostSums / 2 : C::kMostSums) / (C::kTiles * C::kRowTiles);
  static constexpr int kMostSteps = std::min({kChunk / kStep, F::kUnitSteps* kMostUnits, 8 / C::kTiles* F::kVectorSteps});
  static constexpr int kChunkSteps = std::max({kQuad / kStep, F::kUnitSteps, kMostSteps});
  static constexpr int kUnits = kChunkSteps / F::kUnitSteps;
  /// Vectors of 16 bytes of a tile that a thread holds: those of a chunk, or of a stage of the ring.
  static constexpr int kVectors = C::kStages > 0 ? kQuad / kStep : kChunkSteps / F::kVectorSteps;
  /// Pairs of scales, of rows r and r + 8, that a thread loads for the units of a chunk: 8 for each unit and tile.
  static constexpr int kScalesOfThread = (kUnits * 8 + kWarp - 1) / kWarp;
  static constexpr int kAhead = std::min(C::kAhead, kChunkSteps);
  // Shared memory: rings, the codebook's table, totals of each team, barriers. Units: bytes.
  static constexpr int kStageBytes = C::kTiles * (kQuad / kStep) * F::kStepBytes;
  static constexpr int kRingsBytes = C::kWarps * C::kStages * kStageBytes;
  static constexpr int kTableBytes = F::kHasBook ? kPairTableBytes : 0;
  static constexpr int kMailBytes = C::kTiles * C::kRowTiles * kWarp * 16;
  static constexpr int kUsedBytes = kRingsBytes + kTableBytes + C::kWarps * (kMailBytes + 8 * (1 + C::kStages));
  /// More than half of a multiprocessor's, so that each has one block.
  static constexpr std::size_t kSharedBytes = std::max(kUsedBytes, 116 << 10);
  static_assert(kSharedBytes <= 227 << 10 && (C::kStages == 0 || !F::kHasCodes));
  static_assert(kChunkSteps % F::kUnitSteps == 0 && kChunkSteps % F::kVectorSteps == 0 && kChunkSteps % kAhead == 0);
};

}  // namespace lathe::kernels::cuda
