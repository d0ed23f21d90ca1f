// SPDX-License-Identifier: Apache-2.0
// Products of experts with few rows each, at the speed of memory. A warp takes one item (expert_items.h) after the other:
// two tiles of weights, all of k, up to 32 rows. It copies the weights of its next stages to a ring in shared memory, across
// the end of an item, while it multiplies. Sums are those of multiply_few(): each unit by itself from 0, added in the order
// of k.
#pragma once

#include <algorithm>

#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/exact_weights.cuh"
#include "kernels/cuda/ops/experts.h"
#include "kernels/cuda/ops/mbarrier.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"

namespace lathe::kernels::cuda {

/// A product of all experts with their rows; with two matrices, both have the same form.
struct ExpertProduct {
  const ExpertMatrix* matrices[2];  ///< [n_experts] each
  const ExpertRows* rows;           ///< PlacedRows::experts
  const uint2* x;
  int n_steps;
  int n_tiles;
  int n_scale_groups;
  int group_shift;  ///< log2 of the k of a group; 31: one group for the whole row
  CodeConstants constants;
};

/// Sizes for weights of form F.
template <class F>
struct ExpertSizes {
  static constexpr int kWarps = 8, kThreads = kWarps * kWarp;
  static constexpr int kTiles = 2;    ///< of an item
  static constexpr int kVectors = 4;  ///< of 16 bytes for each thread: the weights of a tile and a stage
  static constexpr int kStageSteps = kVectors * F::kVectorSteps;
  static constexpr int kStageUnits = std::max(1, kStageSteps / F::kUnitSteps);
  static constexpr int kWeightBytes = kStageSteps * F::kStepBytes, kTileBytes = kWeightBytes + kStageUnits * F::kScaleBytes;
  static constexpr int kStageBytes = kTiles * kTileBytes;
  static constexpr int kTableBytes = F::kHasBook ? kPairTableBytes : 0;
  static constexpr int kStages = std::min(6, (208 * 1024 - kTableBytes) / (kWarps * kStageBytes));
  static constexpr int kSharedBytes = kTableBytes + kWarps * kStages * (kStageBytes + 8);
  static_assert(kStages >= 2 && kSharedBytes <= 227 * 1024);
  static_assert(F::kUnitSteps % kStageSteps == 0 || kStageSteps % F::kUnitSteps == 0);
};

/// Sums of an item: tile, tile of rows, and elements of a thread.
template <int kRowTiles>
using ExpertTotals = float[2][kRowTiles][4];

template <class F, class End>
class ExpertWarp {
  using S = ExpertSizes<F>;
  static constexpr int kMatrixTiles = S::kTiles / End::kMatrices;

 public:
  __device__ ExpertWarp(const ExpertProduct& product, unsigned char* shared)
      : in_(product),
        lane_(threadIdx.x % kWarp),
        n_groups_((product.n_tiles + kMatrixTiles - 1) / kMatrixTiles),
        n_stages_((product.n_steps + S::kStageSteps - 1) / S::kStageSteps),
        table_(reinterpret_cast<std::uint32_t*>(shared)) {
    const int warp = threadIdx.x / kWarp;
    unsigned char* const stages = shared + S::kTableBytes;
    stages_ = stages + warp * (S::kStages * S::kStageBytes);
    full_ = shared_address(stages + S::kWarps * (S::kStages * S::kStageBytes)) + 8 * S::kStages * warp;
  }

  /// Makes the barriers of this warp.
  __device__ void begin() {
    if (lane_ == 0) {
#pragma unroll
      for (int i = 0; i < S::kStages; ++i) init_barrier(full_ + 8 * i, 1);
      publish_barriers();
    }
    __syncwarp();
    if constexpr (F::kHasBook) fill_pair_table<S::kThreads>(table_, in_.constants);
  }

  __device__ void run(const End& end) {
    const ExpertRows all = in_.rows[0];
    n_experts_ = all.n_rows;
    const std::int64_t n_items = std::int64_t{all.first_slice} * n_groups_;
    end_ = first_item(blockIdx.x + 1, gridDim.x, n_items);
    index_ = fill_index_ = first_item(blockIdx.x, gridDim.x, n_items) + threadIdx.x / kWarp;
    for (int slot = 0; slot < S::kStages; ++slot) fill(slot);
    for (; index_ < end_; index_ += S::kWarps) {
      const ExpertItem item = find(index_);
      if (item.n_rows <= kRowTile) multiply<1>(item, end);
      else if (item.n_rows <= 2 * kRowTile) multiply<2>(item, end);
      else multiply<4>(item, end);
    }
  }

 private:
  /// Steps of x that a warp loads ahead, for kRowTiles tiles of rows.
  template <int kRowTiles>
  static constexpr int kPieceSteps = std::min(S::kStageSteps / 2, kRowTiles <= 2 ? 4 : 2);
  template <int kRowTiles>
  using Piece = uint2[kPieceSteps<kRowTiles>][kRowTiles];
  using Weights = uint4[S::kTiles][S::kVectors];
  using UnitScales = StoredScales<F::kScales>[S::kStageUnits][S::kTiles];

  /// Sums of one item: those of a unit, and the total of the units before it.
  template <int kRowTiles>
  struct Sums {
    ExpertTotals<kRowTiles> total;
    ExpertTotals<kRowTiles> unit;
    float x[F::kHasOffset ? kRowTiles : 1][4];
  };

  const ExpertProduct& in_;
  int lane_;
  int n_groups_;  ///< groups of tiles of a matrix
  int n_stages_;  ///< of an item
  int n_experts_ = 0;
  std::uint32_t* table_;
  unsigned char* stages_;
  unsigned full_;  ///< barriers of the stages
  std::int64_t index_ = 0, fill_index_ = 0, end_ = 0;
  const std::byte *fill_weights_[End::kMatrices], *fill_scales_[End::kMatrices];  ///< of the item that is copied
  int fill_group_ = 0, fill_stage_ = 0;
  int slot_ = 0;  ///< slot of the ring that is read next
  unsigned parity_ = 0;

  /// Item `index`. For all threads of the warp together.
  __device__ ExpertItem find(std::int64_t index) const {
    int n_before = 0;  // experts that begin at `index` or before it
    for (int first = 0; first < n_experts_; first += kWarp) {
      const int at = first + lane_;
      const bool is_before = at < n_experts_ && std::int64_t{in_.rows[1 + at].first_slice} * n_groups_ <= index;
      n_before += __popc(__ballot_sync(0xffffffffU, is_before));
    }
    return item_of(in_.rows[n_before], index, n_groups_);
  }

  /// Copies the next stage of weights to a slot.
  __device__ void fill(int slot) {
    if (fill_index_ >= end_) return;
    if (fill_stage_ == 0) {
      const ExpertItem item = find(fill_index_);
      fill_group_ = item.group;
#pragma unroll
      for (int m = 0; m < End::kMatrices; ++m) {
        fill_weights_[m] = in_.matrices[m][item.expert].weights;
        fill_scales_[m] = in_.matrices[m][item.expert].scales;
      }
    }
    if (lane_ == 0) copy_stage(slot);
    __syncwarp();
    if (++fill_stage_ < n_stages_) return;
    fill_stage_ = 0;
    fill_index_ += S::kWarps;
  }

  __device__ void copy_stage(int slot) const {
    const int first = fill_stage_ * S::kStageSteps, n_steps = min(in_.n_steps - first, S::kStageSteps);
    const int n_units = (n_steps + F::kUnitSteps - 1) / F::kUnitSteps;
    const unsigned barrier = full_ + 8 * slot;
    arrive_expecting(barrier, S::kTiles * (n_steps * F::kStepBytes + n_units * F::kScaleBytes));
    unsigned to = shared_address(stages_ + slot * S::kStageBytes);
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t, to += S::kTileBytes) {
      const int matrix = t / kMatrixTiles;
      const std::int64_t tile = min(fill_group_ * kMatrixTiles + t % kMatrixTiles, in_.n_tiles - 1);
      copy_bulk(to, fill_weights_[matrix] + (tile * in_.n_steps + first) * F::kStepBytes, n_steps * F::kStepBytes, barrier);
      if constexpr (F::kHasCodes) {
        const int scale_group = first * kStep >> in_.group_shift;
        copy_bulk(to + S::kWeightBytes, fill_scales_[matrix] + (tile * in_.n_scale_groups + scale_group) * F::kScaleBytes,
                  n_units * F::kScaleBytes, barrier);
      }
    }
  }

  template <int kRowTiles>
  __device__ void multiply(const ExpertItem& item, const End& end) {
    Sums<kRowTiles> sums = {};
    Piece<kRowTiles> x[2];
    load_x<kRowTiles>(x[0], item, 0);
    for (int stage = 0; stage < n_stages_; ++stage) {
      const int first = stage * S::kStageSteps, n_left = in_.n_steps - first;
      Weights weights;
      UnitScales scales;
      wait_phase(full_ + 8 * slot_, parity_);
      read_stage(weights, scales, n_left);
      __syncwarp();
      fill(slot_);
      if (++slot_ == S::kStages) slot_ = 0, parity_ ^= 1;
      [&]<int... kPiece>(std::integer_sequence<int, kPiece...>) {
        (multiply_piece<kRowTiles, kPiece>(sums, x, weights, scales, item, first), ...);
      }(std::make_integer_sequence<int, S::kStageSteps / kPieceSteps<kRowTiles>>());
      if constexpr (F::kUnitSteps > S::kStageSteps) {
        if ((first + S::kStageSteps) % F::kUnitSteps == 0 || n_left <= S::kStageSteps) add_unit(sums, scales[0]);
      }
    }
    end.template store<kRowTiles>(sums.total, item, lane_);
  }

  /// Reads weights and scales of a stage; those after the last step become zeros.
  __device__ void read_stage(Weights& weights, UnitScales& scales, int n_left) const {
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
      const unsigned char* const from = stages_ + slot_ * S::kStageBytes + t * S::kTileBytes;
#pragma unroll
      for (int v = 0; v < S::kVectors; ++v) {
        weights[t][v] = make_uint4(0, 0, 0, 0);
        if (v * F::kVectorSteps < n_left) weights[t][v] = reinterpret_cast<const uint4*>(from)[v * kWarp + lane_];
      }
      if constexpr (F::kHasCodes) {
        const auto* const stored = reinterpret_cast<const StoredScales<F::kScales>*>(from + S::kWeightBytes) + lane_ / 4;
#pragma unroll
        for (int u = 0; u < S::kStageUnits; ++u) {
          scales[u][t] = {};
          if (u * F::kUnitSteps < n_left) scales[u][t] = stored[u * 8];
        }
      }
    }
  }

  /// Loads x of the steps from `step` on; rows and steps that are not there become zeros.
  template <int kRowTiles>
  __device__ void load_x(Piece<kRowTiles>& x, const ExpertItem& item, int step) const {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      const bool is_there = r * kRowTile + lane_ / 4 < item.n_rows && step < in_.n_steps;
      const uint2* const from =
          in_.x + (static_cast<std::int64_t>(item.first_slot / kRowTile + r) * in_.n_steps + step) * kWarp + lane_;
#pragma unroll
      for (int i = 0; i < kPieceSteps<kRowTiles>; ++i) x[i][r] = is_there ? from[i * kWarp] : make_uint2(0, 0);
    }
  }

  template <int kRowTiles, int kPiece>
  __device__ void multiply_piece(Sums<kRowTiles>& sums, Piece<kRowTiles> (&x)[2], const Weights& weights,
                                 const UnitScales& scales, const ExpertItem& item, int first) const {
    constexpr int kSteps = kPieceSteps<kRowTiles>;
    static_assert(S::kStageSteps / kSteps % 2 == 0 && kQuad / kStep % kSteps == 0);
    load_x<kRowTiles>(x[(kPiece + 1) % 2], item, first + (kPiece + 1) * kSteps);
    [&]<int... kOfPiece>(std::integer_sequence<int, kOfPiece...>) {
      (multiply_step<kRowTiles, kPiece * kSteps + kOfPiece>(sums, x[kPiece % 2][kOfPiece], weights, scales,
                                                            in_.n_steps - first),
       ...);
    }(std::make_integer_sequence<int, kSteps>());
  }

  template <int kRowTiles, int kOfStage>
  __device__ void multiply_step(Sums<kRowTiles>& sums, const uint2 (&x)[kRowTiles], const Weights& weights,
                                const UnitScales& scales, int n_left) const {
    if constexpr (F::kHasOffset) {
      constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) multiply_add(sums.x[r], kOnes, x[r]);
    }
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
      std::uint32_t a[4];
      exact_fragment<F, kOfStage % F::kVectorSteps>(a, weights[t][kOfStage / F::kVectorSteps], in_.constants,
                                                    table_ + lane_);
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) multiply_add(sums.unit[t][r], a, x[r]);
    }
    if constexpr (F::kUnitSteps <= S::kStageSteps && (kOfStage + 1) % F::kUnitSteps == 0) {
      if (kOfStage + 1 - F::kUnitSteps < n_left) add_unit(sums, scales[kOfStage / F::kUnitSteps]);
    }
  }

  /// Adds the sums of a unit to the totals.
  template <int kRowTiles>
  __device__ void add_unit(Sums<kRowTiles>& sums, const StoredScales<F::kScales> (&stored)[S::kTiles]) const {
#pragma unroll
    for (int t = 0; t < S::kTiles; ++t) {
      const Scales scales = stored[t].widened();
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums.total[t][r][i] =
              total_with<F::kScales>(sums.total[t][r][i], sums.unit[t][r][i], sums.x[F::kHasOffset ? r : 0][i % 2],
                                     i < 2 ? scales.scale.x : scales.scale.y, i < 2 ? scales.offset.x : scales.offset.y);
          sums.unit[t][r][i] = 0;
        }
      }
    }
    if constexpr (F::kHasOffset) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) sums.x[r][0] = sums.x[r][1] = sums.x[r][2] = sums.x[r][3] = 0;
    }
  }
};

template <class F, class End>
__global__ void __launch_bounds__(ExpertSizes<F>::kThreads, 1)
    multiply_expert_rows(const __grid_constant__ ExpertProduct product, const __grid_constant__ End end) {
  extern __shared__ __align__(128) unsigned char shared_of_experts[];
  let_next_begin();
  ExpertWarp<F, End> warp(product, shared_of_experts);
  warp.begin();
  __syncthreads();
  wait_for_previous();
  warp.run(end);
}

/// Launches multiply_expert_rows() for matrices of one form. `end`: what becomes of the totals.
template <class End>
void launch_experts(Stream stream, const PlacedRows& rows, const PreparedX& x, const ExpertMatrices& first,
                    const ExpertMatrices& second, const End& end, int n_processors) {
  const MatrixLayout& layout = first.form.layout;
  LATHE_CHECK(x.is_bf16 && x.padded_k == layout.padded_k());
  LATHE_CHECK(layout.group == 0 || std::has_single_bit(static_cast<std::uint64_t>(layout.group)));
  const ExpertProduct product{
      .matrices = {first.of_expert, second.of_expert},
      .rows = rows.experts,
      .x = static_cast<const uint2*>(x.data),
      .n_steps = static_cast<int>(layout.n_steps()),
      .n_tiles = static_cast<int>(layout.n_tiles()),
      .n_scale_groups = static_cast<int>(layout.n_groups()),
      .group_shift = layout.group == 0 ? 31 : std::countr_zero(static_cast<std::uint64_t>(layout.group)),
      .constants = code_constants(first.form)};
  for_forms(first.form, [&](auto form) {
    using F = decltype(form);
    const auto kernel = multiply_expert_rows<F, End>;
    once_per_device([&] {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ExpertSizes<F>::kSharedBytes),
            "setting the shared memory of a product");
      return true;
    });
    launch_dependent(kernel, static_cast<unsigned>(n_processors), ExpertSizes<F>::kThreads, ExpertSizes<F>::kSharedBytes,
                     stream, product, end);
  });
}

}  // namespace lathe::kernels::cuda
