// SPDX-License-Identifier: Apache-2.0
// Products with few rows, at the speed of memory. Blocks of threads stay and take one group of tiles (16 outputs each) after
// the other. A chunk is up to 256 of k of all tiles of a group; chunks go to the warps of the block, or of the blocks of a
// cluster, in turn. Each warp copies the weights of its next chunks to shared memory while it multiplies, and begins before
// the kernel before it in the stream ends. It sums each unit of its chunk by itself; when its turn comes it takes the totals
// from the warp that has the chunk before, adds its sums in order, and hands the totals on. So each output is added in the
// order of k, whatever the number of rows, warps and blocks.
#pragma once

#include <algorithm>

#include "kernels/cuda/layout/chunk_turns.h"
#include "kernels/cuda/ops/barriers.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/exact_weights.cuh"
#include "kernels/cuda/ops/launch.cuh"

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

/// Division of a product among warps. kTiles: tiles of 16 outputs of a warp; kStages: stages of a warp in shared memory.
template <int kRowTilesOf, int kTilesOf, int kWarpsOf, int kStagesOf, int kClusterOf, int kBlocksOf>
struct FewCut {
  static constexpr int kRowTiles = kRowTilesOf, kTiles = kTilesOf, kWarps = kWarpsOf, kStages = kStagesOf;
  static constexpr int kCluster = kClusterOf, kBlocks = kBlocksOf;
  static constexpr int kThreads = kWarps * kWarp;
};

template <class F, class C>
struct FewSizes {
  /// Units of a chunk: as many as registers hold the sums of.
  static constexpr int kMostUnits = std::max(1, (F::kHasOffset ? 8 : 16) / (C::kTiles * C::kRowTiles));
  static constexpr int kChunkSteps = std::max(4, std::min(kChunk / kStep, F::kUnitSteps* kMostUnits));
  static constexpr int kUnits = kChunkSteps / F::kUnitSteps;
  /// A stage has up to 2 KB of weights for each tile.
  static constexpr int kStageSteps = std::min(kChunkSteps, 4 * F::kVectorSteps);
  static constexpr int kChunkStages = kChunkSteps / kStageSteps;
  static constexpr int kVectors = kStageSteps / F::kVectorSteps;
  static constexpr int kStageUnits = std::max(1, kStageSteps / F::kUnitSteps);
  static constexpr int kWeightBytes = kStageSteps * F::kStepBytes, kScaleBytes = kStageUnits * F::kScaleBytes;
  static constexpr int kTileBytes = kWeightBytes + kScaleBytes;
  static constexpr int kStageBytes = C::kTiles * kTileBytes;
  /// Steps of x that a warp loads ahead.
  static constexpr int kPieceSteps = std::min(C::kRowTiles <= 2 ? 4 : C::kRowTiles <= 4 ? 2 : 1, kChunkSteps / 2);
  static constexpr int kPieces = kChunkSteps / kPieceSteps, kStagePieces = kStageSteps / kPieceSteps;
  static constexpr int kMailBytes = C::kTiles * C::kRowTiles * kWarp * 16;
  static constexpr int kBarriers = C::kWarps * (C::kStages + 1);
  static constexpr int kTableBytes = F::kHasBook ? kPairTableBytes : 0;
  static constexpr std::size_t kSharedBytes =
      std::size_t{C::kWarps} * C::kStages * kStageBytes + kMailBytes + kTableBytes + kBarriers * 8;
  static_assert(kChunkSteps % F::kUnitSteps == 0 && kChunkSteps % kStageSteps == 0 && kStageSteps % F::kVectorSteps == 0);
  static_assert(kStageSteps % kPieceSteps == 0 && kPieces % 2 == 0);
  static_assert(F::kUnitSteps >= kStageSteps || kStageSteps % F::kUnitSteps == 0);
};

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

/// The work of one warp.
template <class F, class C, class End>
class FewWarp {
  using S = FewSizes<F, C>;
  static constexpr int kMatrixTiles = C::kTiles / End::kMatrices;

 public:
  __device__ FewWarp(const FewProduct& product, unsigned char* shared)
      : in_(product),
        turns_{.n_chunks = (product.n_steps + S::kChunkSteps - 1) / S::kChunkSteps,
               .n_groups = (product.n_tiles + kMatrixTiles - 1) / kMatrixTiles,
               .n_clusters = static_cast<int>(gridDim.x) / C::kCluster,
               .cluster_size = C::kCluster,
               .n_warps = C::kWarps},
        own_{.rank = static_cast<int>(blockIdx.x) % C::kCluster, .warp = static_cast<int>(threadIdx.x) / kWarp},
        lane_(threadIdx.x % kWarp),
        stages_(shared + own_.warp * (C::kStages * S::kStageBytes)),
        policy_(read_once_policy()) {
    unsigned char* const after = shared + C::kWarps * (C::kStages * S::kStageBytes);
    mail_ = reinterpret_cast<float4*>(after) + lane_;
    table_ = reinterpret_cast<std::uint32_t*>(after + S::kMailBytes);
    ready_ = shared_address(after + S::kMailBytes + S::kTableBytes);
    full_ = ready_ + 8 * (C::kWarps + own_.warp * C::kStages);
    use_ = fill_ = turns_.first_of(static_cast<int>(blockIdx.x) / C::kCluster, own_);
    is_first_ = own_.warp == 0 && own_.rank == 0;
  }

  /// Makes the barriers of this warp and begins to copy weights.
  __device__ void begin() {
    if (lane_ == 0) {
      init_barrier(ready_ + 8 * own_.warp, 1);
#pragma unroll
      for (int i = 0; i < C::kStages; ++i) init_barrier(full_ + 8 * i, 1);
      order_barriers();
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < C::kStages; ++i) fill(i);
    if constexpr (F::kHasBook) fill_pair_table<C::kThreads>(table_, in_.constants);
  }

  __device__ void run(const End& end) {
    if (!turns_.is_there(use_)) return;
    load_x(x_[0], use_.chunk * S::kChunkSteps);
    while (turns_.is_there(use_)) {
      const ChunkOfGroup next = turns_.next_of_warp(use_);
      multiply_chunk(next.chunk * S::kChunkSteps);
      take_turn(end);
      use_ = next;
    }
  }

 private:
  const FewProduct& in_;
  ChunkTurns turns_;
  WarpOfCluster own_;
  int lane_;
  unsigned char* stages_;
  std::uint64_t policy_;
  float4* mail_;
  std::uint32_t* table_;
  unsigned ready_;  ///< barriers of the warps' turns
  unsigned full_;   ///< barriers of this warp's stages
  ChunkOfGroup use_, fill_;
  int fill_stage_ = 0;  ///< stage of fill_'s chunk that is copied next
  int slot_ = 0;        ///< slot of shared memory that is read next
  unsigned slot_parity_ = 0, turn_parity_ = 0;
  bool is_first_;  ///< no chunk comes before the next one
  uint2 x_[2][S::kPieceSteps][C::kRowTiles];
  float sums_[S::kUnits][C::kTiles][C::kRowTiles][4];
  float x_sums_[F::kHasOffset ? S::kUnits : 1][C::kRowTiles][4];
  StoredScales<F::kScales> scales_[S::kUnits][C::kTiles];

  /// Copies the next stage of this warp's weights to a slot.
  __device__ void fill(int slot) {
    if (!turns_.is_there(fill_)) return;
    const int first = fill_.chunk * S::kChunkSteps + fill_stage_ * S::kStageSteps;
    if (lane_ == 0) copy_stage(slot, first, min(in_.n_steps - first, S::kStageSteps));
    if (++fill_stage_ < S::kChunkStages) return;
    fill_stage_ = 0;
    fill_ = turns_.next_of_warp(fill_);
  }

  __device__ void copy_stage(int slot, int first, int n_steps) {
    const unsigned barrier = full_ + 8 * slot;
    if (n_steps <= 0) return arrive(barrier);  // the last chunk ends before this stage
    const int n_units = max(1, (n_steps + F::kUnitSteps - 1) / F::kUnitSteps);
    arrive_expecting(barrier, C::kTiles * (n_steps * F::kStepBytes + n_units * F::kScaleBytes));
    unsigned to = shared_address(stages_ + slot * S::kStageBytes);
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t, to += S::kTileBytes) {
      const int matrix = t / kMatrixTiles;
      const std::int64_t tile = min(fill_.group * kMatrixTiles + t % kMatrixTiles, in_.n_tiles - 1);
      copy_bulk(to, in_.weights[matrix] + (tile * in_.n_steps + first) * F::kStepBytes, n_steps * F::kStepBytes, barrier,
                policy_);
      if constexpr (F::kHasCodes) {
        const int scale_group = first * kStep >> in_.group_shift;
        copy_bulk(to + S::kWeightBytes, in_.scales[matrix] + (tile * in_.n_scale_groups + scale_group) * F::kScaleBytes,
                  n_units * F::kScaleBytes, barrier, policy_);
      }
    }
  }

  /// Loads x of the steps from `step` on; rows and steps that are not there become zeros.
  __device__ void load_x(uint2 (&x)[S::kPieceSteps][C::kRowTiles], int step) const {
#pragma unroll
    for (int r = 0; r < C::kRowTiles; ++r) {
      const bool is_there = r * kRowTile + lane_ / 4 < in_.n_rows && step < in_.n_steps;
      const uint2* const from = in_.x + (static_cast<std::int64_t>(r) * in_.n_steps + step) * kWarp + lane_;
#pragma unroll
      for (int i = 0; i < S::kPieceSteps; ++i) x[i][r] = is_there ? from[i * kWarp] : make_uint2(0, 0);
    }
  }

  /// Sums the units of a chunk. `next_step`: the first step of the chunk after it.
  __device__ void multiply_chunk(int next_step) {
    const int first = use_.chunk * S::kChunkSteps;
    clear(sums_);
    if constexpr (F::kHasOffset) clear(x_sums_);
#pragma unroll
    for (int stage = 0; stage < S::kChunkStages; ++stage) {
      uint4 weights[C::kTiles][S::kVectors];
      wait(full_ + 8 * slot_, slot_parity_);
      read_stage(weights, stage, in_.n_steps - first - stage * S::kStageSteps);
      __syncwarp();
      fill(slot_);
      if (++slot_ == C::kStages) slot_ = 0, slot_parity_ ^= 1;
      [&]<int... kOfStage>(std::integer_sequence<int, kOfStage...>) {
        (multiply_piece<kOfStage>(weights, stage, first, next_step), ...);
      }(std::make_integer_sequence<int, S::kStagePieces>());
    }
  }

  template <int kSize>
  __device__ static void clear(float (&of)[kSize][C::kTiles][C::kRowTiles][4]) {
#pragma unroll
    for (int i = 0; i < kSize * C::kTiles * C::kRowTiles * 4; ++i) (&of[0][0][0][0])[i] = 0;
  }
  template <int kSize>
  __device__ static void clear(float (&of)[kSize][C::kRowTiles][4]) {
#pragma unroll
    for (int i = 0; i < kSize * C::kRowTiles * 4; ++i) (&of[0][0][0])[i] = 0;
  }

  /// Reads weights and scales of a stage; those after the last step become zeros.
  __device__ void read_stage(uint4 (&weights)[C::kTiles][S::kVectors], int stage, int n_steps) {
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
      const unsigned char* const from = stages_ + slot_ * S::kStageBytes + t * S::kTileBytes;
#pragma unroll
      for (int v = 0; v < S::kVectors; ++v) {
        weights[t][v] = make_uint4(0, 0, 0, 0);
        if (v * F::kVectorSteps < n_steps) weights[t][v] = reinterpret_cast<const uint4*>(from)[v * kWarp + lane_];
      }
      if constexpr (F::kHasCodes) {
        const auto* const scales = reinterpret_cast<const StoredScales<F::kScales>*>(from + S::kWeightBytes) + lane_ / 4;
#pragma unroll
        for (int u = 0; u < S::kStageUnits; ++u) {
          StoredScales<F::kScales>& scale = scales_[(stage * S::kStageSteps) / F::kUnitSteps + u][t];
          if (u == 0 && stage * S::kStageSteps % F::kUnitSteps != 0) continue;  // a unit of several stages
          scale = {};
          if (u * F::kUnitSteps < n_steps) scale = scales[u * 8];
        }
      }
    }
  }

  template <int kOfStage>
  __device__ void multiply_piece(const uint4 (&weights)[C::kTiles][S::kVectors], int stage, int first, int next_step) {
    const int piece = stage * S::kStagePieces + kOfStage;
    load_x(x_[(piece + 1) % 2], piece + 1 < S::kPieces ? first + (piece + 1) * S::kPieceSteps : next_step);
    [&]<int... kOfPiece>(std::integer_sequence<int, kOfPiece...>) {
      (multiply_step<kOfStage * S::kPieceSteps + kOfPiece>(weights, x_[piece % 2][kOfPiece], stage), ...);
    }(std::make_integer_sequence<int, S::kPieceSteps>());
  }

  template <int kOfStage>
  __device__ void multiply_step(const uint4 (&weights)[C::kTiles][S::kVectors], const uint2 (&x)[C::kRowTiles], int stage) {
    const int unit = (stage * S::kStageSteps + kOfStage) / F::kUnitSteps;
    if constexpr (F::kHasOffset) {
      constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) multiply_add(x_sums_[unit][r], kOnes, x[r]);
    }
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
      std::uint32_t a[4];
      exact_fragment<F, kOfStage % F::kVectorSteps>(a, weights[t][kOfStage / F::kVectorSteps], in_.constants,
                                                    table_ + lane_);
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) multiply_add(sums_[unit][t][r], a, x[r]);
    }
  }

  /// Adds the sums of the chunk to the totals of the chunks before it, and hands them on or stores them.
  __device__ void take_turn(const End& end) {
    if (!is_first_) {
      wait<C::kCluster>(ready_ + 8 * own_.warp, turn_parity_);
      turn_parity_ ^= 1;
    }
    is_first_ = false;
    const bool is_last = turns_.is_last_of_group(use_);
    const WarpOfCluster next = turns_.successor(own_);
    FewTotals<C> total;
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
#pragma unroll
      for (int r = 0; r < C::kRowTiles; ++r) {
        float4 before = make_float4(0, 0, 0, 0);
        if (use_.chunk > 0) before = mail_[(t * C::kRowTiles + r) * kWarp];
        total[t][r][0] = before.x, total[t][r][1] = before.y, total[t][r][2] = before.z, total[t][r][3] = before.w;
        add_units(total[t][r], t, r);
        if (!is_last)
          send((t * C::kRowTiles + r) * kWarp, next.rank,
               make_float4(total[t][r][0], total[t][r][1], total[t][r][2], total[t][r][3]));
      }
    }
    __syncwarp();
    if (lane_ == 0 && turns_.has_next(use_)) {
      if constexpr (C::kCluster > 1) arrive_at(ready_ + 8 * next.warp, next.rank);
      else arrive(ready_ + 8 * next.warp);
    }
    if (is_last) end.template store<C>(total, use_.group, lane_);
  }

  __device__ void add_units(float (&total)[4], int t, int r) const {
#pragma unroll
    for (int u = 0; u < S::kUnits; ++u) {
      const Scales scales = scales_[u][t].widened();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        total[i] =
            total_with<F::kScales>(total[i], sums_[u][t][r][i], x_sums_[F::kHasOffset ? u : 0][r][i % 2],
                                   i < 2 ? scales.scale.x : scales.scale.y, i < 2 ? scales.offset.x : scales.offset.y);
      }
    }
  }

  __device__ void send(int at, int rank, float4 four) {
    if constexpr (C::kCluster > 1) store_at(shared_address(mail_ + at), rank, four);
    else mail_[at] = four;
  }
};

template <class F, class C, class End>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks)
    multiply_few_rows(const __grid_constant__ FewProduct product, const __grid_constant__ End end) {
  extern __shared__ __align__(128) unsigned char shared_of_few[];
  let_next_begin();
  FewWarp<F, C, End> warp(product, shared_of_few);
  warp.begin();
  if constexpr (C::kCluster > 1) sync_cluster();
  else __syncthreads();
  wait_for_previous();
  warp.run(end);
}

/// launch_dependent() with blocks in clusters of `cluster_size`.
template <class... Params, class... Args>
void launch_clusters(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
                     unsigned cluster_size, const Args&... args) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = cluster_size;
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  check(cudaLaunchKernelEx(&config, kernel, args...), "launch");
}

inline int n_processors() {
  static const int n = [] {
    int count = 0;
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "querying the device");
    return count;
  }();
  return n;
}

/// Launches multiply_few_rows(). `end`: what becomes of the totals.
template <class F, class C, class End>
void launch_few(Stream stream, const FewProduct& product, const End& end) {
  using S = FewSizes<F, C>;
  const auto kernel = multiply_few_rows<F, C, End>;
  [[maybe_unused]] static const bool is_prepared = [&] {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(S::kSharedBytes)),
          "setting the shared memory of a product");
    return true;
  }();
  const auto n_groups = div_up(product.n_tiles, C::kTiles / End::kMatrices);
  const auto n_clusters = std::min<std::int64_t>(n_groups, n_processors() * C::kBlocks / C::kCluster);
  const dim3 grid(static_cast<unsigned>(n_clusters * C::kCluster)), block(C::kThreads);
  if constexpr (C::kCluster > 1) launch_clusters(kernel, grid, block, S::kSharedBytes, stream, C::kCluster, product, end);
  else launch_dependent(kernel, grid, block, S::kSharedBytes, stream, product, end);
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
