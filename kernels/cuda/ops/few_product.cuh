// SPDX-License-Identifier: Apache-2.0
// Products with few rows, at the speed of memory. One block of threads stays on each multiprocessor. Its warps form teams; a
// team takes one group of tiles (16 outputs each) after the other. A chunk is up to 256 of k of a group; chunks go to the
// warps of a team in turn. Codes of its next chunk a warp loads into the registers that the multiplied ones leave, bf16
// weights into a ring in shared memory (few_ring.cuh); it begins before the kernel before it in the stream ends. It sums
// each unit of its chunk by itself; when its turn comes it takes the totals from the warp that has the chunk before, adds
// its sums in order, and hands the totals on. So each output is added in the order of k, whatever the number of rows, warps
// and teams.
#pragma once

#include <algorithm>

#include "kernels/cuda/layout/chunk_turns.h"
#include "kernels/cuda/ops/barriers.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/exact_weights.cuh"
#include "kernels/cuda/ops/few_ring.cuh"
#include "kernels/cuda/ops/few_shape.cuh"
#include "kernels/cuda/ops/launch.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"

namespace lathe::kernels::cuda {

template <class C>
using FewTotals = float[C::kTiles][C::kRowTiles][4];

/// Writes totals as rows of the output.
struct StoreRows {
  static constexpr int kMatrices = 1;
  float* out;
  std::int64_t stride;
  int n_rows, n_outputs;
  const float* bias;

  template <class C>
  __device__ void store(const FewTotals<C>& total, int group, int lane) const {
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = r * kRowTile + lane % 4 * 2 + i % 2,
                    output = (group * C::kTiles + t) * kTile + lane / 4 + i / 2 * 8;
          if (row >= n_rows || output >= n_outputs) continue;
          out[row * stride + output] = bias != nullptr ? __fadd_rn(total[t][r][i], bias[output]) : total[t][r][i];
        }
      }
    }
  }
};

/// x of steps after the last one.
static __device__ const uint2 no_x[4 * kWarp] = {};

/// The work of one warp.
template <class F, class C, class End>
class FewWarp {
  using S = FewSizes<F, C>;
  using Ring = WeightRing<F, C, End::kMatrices>;
  static constexpr int kMatrixTiles = C::kTiles / End::kMatrices;
  static constexpr bool kHasRing = C::kStages > 0;

 public:
  __device__ FewWarp(const FewProduct& product, int n_teams, unsigned char* shared)
      : in_(product), lane_(threadIdx.x % kWarp), policy_(read_once_policy()), ring_(nullptr, 0, {}) {
    const int warp = threadIdx.x / kWarp, n_warps = blockDim.x / kWarp;
    const int team = warp % n_teams, rank = warp / n_teams;
    turns_ = {.n_chunks = (product.n_steps + S::kChunkSteps - 1) / S::kChunkSteps,
              .n_groups = (product.n_tiles + kMatrixTiles - 1) / kMatrixTiles,
              .n_teams = static_cast<int>(gridDim.x) * n_teams,
              .n_warps = n_warps / n_teams};
    use_ = turns_.first_of(team * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x), rank);
    table_ = reinterpret_cast<std::uint32_t*>(shared + S::kRingsBytes);
    unsigned char* const after = shared + S::kRingsBytes + S::kTableBytes;
    mail_ = reinterpret_cast<float4*>(after + team * S::kMailBytes) + lane_;
    const unsigned barriers = shared_address(after + C::kWarps * S::kMailBytes);
    ready_ = barriers + 8 * warp;
    ready_of_next_ = barriers + 8 * (turns_.successor(rank) * n_teams + team);
    ring_ = Ring(shared + warp * (C::kStages * S::kStageBytes), barriers + 8 * (C::kWarps + warp * C::kStages), use_);
    is_first_ = rank == 0;
#pragma unroll
    for (int r = 0; r < C::kRowTiles; ++r) {
      // Rows that are not there have the numbers of row 0; their sums are not stored.
      x_at_[r] = r * kRowTile + lane_ / 4 < in_.n_rows ? r * in_.n_steps * kWarp + lane_ : lane_ % 4;
    }
  }

  /// Makes the barrier of this warp and begins to load weights.
  __device__ void begin() {
    if (lane_ == 0) init_barrier(ready_, 1);
    aim(use_);
    if constexpr (kHasRing) {
      ring_.begin(in_, turns_);
    } else {
#pragma unroll
      for (int t = 0; t < C::kTiles; ++t) {
#pragma unroll
        for (int v = 0; v < S::kVectors; ++v) {
          weights_[t][v] = make_uint4(0, 0, 0, 0);
          load_weights(t, v);
        }
      }
    }
    load_scales();
    if constexpr (F::kHasBook) fill_pair_table(table_, in_.constants, static_cast<int>(blockDim.x));
  }

  __device__ void run(const End& end) {
    if (!turns_.is_there(use_)) return;
    load_first_x<0>();
    while (turns_.is_there(use_)) {
      const ChunkOfGroup next = turns_.next_of_warp(use_);
      aim(next);
      keep_scales();
      multiply_chunk(next);
      take_turn(end);
      use_ = next;
    }
  }

 private:
  const FewProduct& in_;
  ChunkTurns turns_;
  int lane_;
  std::uint64_t policy_;
  float4* mail_;
  std::uint32_t* table_;
  unsigned ready_, ready_of_next_;  ///< barriers of the turns of this warp and of the one after it
  ChunkOfGroup use_;
  unsigned turn_parity_ = 0;
  bool is_first_;           ///< no chunk comes before the next one
  int x_at_[C::kRowTiles];  ///< of this thread, in the first step
  // Chunk that is loaded:
  int n_left_ = 0;  ///< steps from its first one on
  const std::byte *weights_from_[C::kTiles], *scales_from_[C::kTiles];

  Ring ring_;
  uint4 weights_[C::kTiles][S::kVectors];
  uint2 x_[S::kAhead][C::kRowTiles];
  float sums_[S::kUnits][C::kTiles][C::kRowTiles][4];
  float x_sums_[F::kHasOffset ? S::kUnits : 1][C::kRowTiles][4];
  StoredScales<F::kScales> scales_[S::kScalesOfThread][C::kTiles], loaded_scales_[S::kScalesOfThread][C::kTiles];

  /// Chooses the chunk of the next loads.
  __device__ void aim(ChunkOfGroup at) {
    const int first = at.chunk * S::kChunkSteps;
    n_left_ = turns_.is_there(at) ? in_.n_steps - first : 0;
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
      const int matrix = t / kMatrixTiles, tile = min(at.group * kMatrixTiles + t % kMatrixTiles, in_.n_tiles - 1);
      weights_from_[t] =
          in_.weights[matrix] + (static_cast<std::int64_t>(tile) * in_.n_steps + first) * F::kStepBytes + lane_ * 16;
      if constexpr (F::kHasCodes)
        scales_from_[t] =
            in_.scales[matrix] +
            (static_cast<std::int64_t>(tile) * in_.n_scale_groups + (first * kStep >> in_.group_shift)) * F::kScaleBytes;
    }
  }

  __device__ void load_weights(int t, int v) {
    // Missing weights multiply zeros of x, so codes may be anything; other numbers might be infinite.
    if constexpr (F::kStorage == Storage::bf16 || F::kStorage == Storage::e4m3) {
      if (v * F::kVectorSteps >= n_left_) weights_[t][v] = make_uint4(0, 0, 0, 0);
    }
    load_once(weights_[t][v], weights_from_[t] + v * 512, v * F::kVectorSteps, n_left_, policy_);
  }

  /// Loads scales of the chunk; those of units that are not there are zeros.
  __device__ void load_scales() {
    if constexpr (F::kHasCodes) {
      const int n_there = (n_left_ + F::kUnitSteps - 1) / F::kUnitSteps * 8;
#pragma unroll
      for (int t = 0; t < C::kTiles; ++t) {
#pragma unroll
        for (int i = 0; i < S::kScalesOfThread; ++i) {
          const int at = i * kWarp + lane_;
          loaded_scales_[i][t] = {};
          if (at < n_there && at < S::kUnits * 8)
            loaded_scales_[i][t] = reinterpret_cast<const StoredScales<F::kScales>*>(scales_from_[t])[at];
        }
      }
    }
  }

  __device__ void keep_scales() {
#pragma unroll
    for (int i = 0; i < S::kScalesOfThread * C::kTiles; ++i) (&scales_[0][0])[i] = (&loaded_scales_[0][0])[i];
  }
  /// The scales of this thread's rows for unit u of the chunk that is multiplied.
  __device__ Scales scales_of(int u, int t) const {
    StoredScales<F::kScales> scales = scales_[u / 4][t];
    auto* const words = reinterpret_cast<std::uint32_t*>(&scales);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(scales) / 4); ++i)
      words[i] = __shfl_sync(~0U, words[i], u % 4 * 8 + lane_ / 4);
    return scales.widened();
  }

  /// Loads x of the kQuad from `step` on; steps that are not there are zeros.
  template <int kSlot>
  __device__ void load_x(int step) {
#pragma unroll
    for (int r = 0; r < C::kRowTiles; ++r) {
      const uint2* const from = step < in_.n_steps ? in_.x + step * kWarp + x_at_[r] : no_x;
#pragma unroll
      for (int i = 0; i < std::min(4, S::kAhead); ++i) x_[kSlot + i][r] = from[i * kWarp];
    }
  }
  template <int kSlot>
  __device__ void load_first_x() {
    if constexpr (kSlot < S::kAhead) {
      load_x<kSlot>(use_.chunk * S::kChunkSteps + kSlot);
      load_first_x<kSlot + 4>();
    }
  }

  __device__ void multiply_chunk(ChunkOfGroup next) {
#pragma unroll
    for (int i = 0; i < S::kUnits * C::kTiles * C::kRowTiles * 4; ++i) (&sums_[0][0][0][0])[i] = 0;
    if constexpr (F::kHasOffset) {
#pragma unroll
      for (int i = 0; i < S::kUnits * C::kRowTiles * 4; ++i) (&x_sums_[0][0][0])[i] = 0;
    }
    const int first = use_.chunk * S::kChunkSteps, first_of_next = next.chunk * S::kChunkSteps;
    [&]<int... kSteps>(std::integer_sequence<int, kSteps...>) {
      (multiply_step<kSteps>(first, first_of_next), ...);
    }(std::make_integer_sequence<int, S::kChunkSteps>());
  }

  template <int kStepOf>
  __device__ void multiply_step(int first, int first_of_next) {
    if constexpr (kHasRing && kStepOf % S::kVectors == 0) ring_.take(weights_, in_.n_steps - first - kStepOf, in_, turns_);
    constexpr int kUnit = kStepOf / F::kUnitSteps, kSlot = kStepOf % S::kAhead,
                  kVector = kStepOf / F::kVectorSteps % S::kVectors;
    if constexpr (F::kHasOffset) {
      constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) multiply_add(x_sums_[kUnit][r], kOnes, x_[kSlot][r]);
    }
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
      std::uint32_t a[4];
      exact_fragment<F, kStepOf % F::kVectorSteps>(a, weights_[t][kVector], in_.constants, table_ + lane_);
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) multiply_add(sums_[kUnit][t][r], a, x_[kSlot][r]);
      if constexpr (!kHasRing && kStepOf % F::kVectorSteps == F::kVectorSteps - 1) load_weights(t, kVector);
    }
    if constexpr (kStepOf == S::kChunkSteps / 2 - 1) load_scales();
    constexpr int kPiece = std::min(4, S::kAhead);
    if constexpr (kStepOf % kPiece == kPiece - 1) {
      constexpr int kNext = kStepOf + 1 - kPiece + S::kAhead;
      load_x<kSlot + 1 - kPiece>(kNext < S::kChunkSteps ? first + kNext : first_of_next + kNext - S::kChunkSteps);
    }
  }

  /// Adds the sums of the chunk to the totals of the chunks before it, and hands them on or stores them.
  __device__ void take_turn(const End& end) {
    Scales scales[S::kUnits][C::kTiles];
#pragma unroll
    for (int u = 0; u < S::kUnits; ++u) {
#pragma unroll
      for (int t = 0; t < C::kTiles; ++t) {
        if constexpr (F::kHasCodes) scales[u][t] = scales_of(u, t);
      }
    }
    const bool is_last = turns_.is_last_of_group(use_), hands_on = lane_ == 0 && turns_.has_next(use_);
    if (!is_first_) {
      wait(ready_, turn_parity_);
      turn_parity_ ^= 1;
    }
    is_first_ = false;
    FewTotals<C> total;
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) {
        float4* const mail = mail_ + (t * C::kRowTiles + r) * kWarp;
        float4 before = make_float4(0, 0, 0, 0);
        if (use_.chunk > 0) before = *mail;
        total[t][r][0] = before.x, total[t][r][1] = before.y, total[t][r][2] = before.z, total[t][r][3] = before.w;
#pragma unroll
        for (int u = 0; u < S::kUnits; ++u) add_unit(total[t][r], scales[u][t], u, t, r);
        if (!is_last) *mail = make_float4(total[t][r][0], total[t][r][1], total[t][r][2], total[t][r][3]);
      }
    }
    __syncwarp();
    if (hands_on) arrive(ready_of_next_);
    if (is_last) end.template store<C>(total, use_.group, lane_);
  }

  __device__ void add_unit(float (&total)[4], const Scales& scales, int u, int t, int r) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      total[i] = total_with<F::kScales>(total[i], sums_[u][t][r][i], x_sums_[F::kHasOffset ? u : 0][r][i % 2],
                                        i < 2 ? scales.scale.x : scales.scale.y, i < 2 ? scales.offset.x : scales.offset.y);
    }
  }
};

template <class F, class C, class End>
__global__ void __launch_bounds__(C::kThreads, 1)
    multiply_few_rows(const __grid_constant__ FewProduct product, const __grid_constant__ End end, int n_teams) {
  extern __shared__ __align__(128) unsigned char shared_of_few[];
  let_next_begin();
  FewWarp<F, C, End> warp(product, n_teams, shared_of_few);
  warp.begin();
  __syncthreads();
  wait_for_previous();
  warp.run(end);
}

inline int n_processors() {
  return once_per_device([] {
    int count = 0;
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, current_device()), "querying the device");
    return count;
  });
}

/// Launches multiply_few_rows(). `end`: what becomes of the totals.
template <class F, class C, class End>
void launch_few(Stream stream, const FewProduct& product, const End& end) {
  using S = FewSizes<F, C>;
  const auto kernel = multiply_few_rows<F, C, End>;
  once_per_device([&] {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(S::kSharedBytes)),
          "setting the shared memory of a product");
    return true;
  });
  const auto n_groups = div_up(product.n_tiles, C::kTiles / End::kMatrices);
  const auto n_blocks = std::min<std::int64_t>(n_groups, n_processors());
  // Turns of bf16, which has one unit in a chunk, do not hold up one team.
  const int n_teams = C::kStages > 0 ? 1 : teams_of_block(static_cast<int>(div_up(n_groups, n_blocks)), C::kWarps);
  const dim3 grid(static_cast<unsigned>(n_blocks)), block(C::kWarps / n_teams * n_teams * kWarp);
  launch_dependent(kernel, grid, block, S::kSharedBytes, stream, product, end, n_teams);
}

inline FewProduct few_product(const PreparedX& x, const StoredMatrix& first, const StoredMatrix& second,
                              std::int64_t first_row, std::int64_t n_rows) {
  const MatrixLayout& layout = first.layout;
  LATHE_CHECK(layout.group == 0 || std::has_single_bit(static_cast<std::uint64_t>(layout.group)));
  return {.weights = {static_cast<const std::byte*>(first.weights), static_cast<const std::byte*>(second.weights)},
          .scales = {static_cast<const std::byte*>(first.scales), static_cast<const std::byte*>(second.scales)},
          .x = static_cast<const uint2*>(x.data) + first_row / kRowTile * layout.n_steps() * kWarp,
          .n_rows = static_cast<int>(n_rows),
          .n_steps = static_cast<int>(layout.n_steps()),
          .n_tiles = static_cast<int>(layout.n_tiles()),
          .n_scale_groups = static_cast<int>(layout.n_groups()),
          .group_shift = layout.group == 0 ? 31 : std::countr_zero(static_cast<std::uint64_t>(layout.group)),
          .constants = code_constants(first)};
}

}  // namespace lathe::kernels::cuda
