// SPDX-License-Identifier: Apache-2.0
// Products with many rows by wgmma. A warpgroup has 64 outputs, whose weights its threads take from shared memory into
// registers, and the rows of the block. Sums have the same bits as in multiply_few(): each unit of k is summed separately,
// and units are scaled and added in order.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/cuda/ops/launch.cuh"
#include "kernels/cuda/ops/many_rows.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"
#include "kernels/cuda/ops/wgmma.cuh"

namespace lathe::kernels::cuda {

/// Stores the totals of multiply_many().
struct StoreManyRows {
  float* out;
  std::int64_t stride;
  const float* bias;  ///< null: none
  int n_rows, n_outputs;

  template <class S>
  __device__ __forceinline__ void store(const float (&total)[S::kRows / 2], const TilePlace& place) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    const int output = place.out * S::kOutputs + warp * kTile + lane / 4;
    const int row = place.row * S::kRows + lane % 4 * 2;
    const bool has_first = output < n_outputs, has_second = output + 8 < n_outputs;
    const float first_bias = bias != nullptr && has_first ? bias[output] : 0;
    const float second_bias = bias != nullptr && has_second ? bias[output + 8] : 0;
    float* to = out + row * stride + output;
#pragma unroll
    for (int t = 0; t < S::kRowTiles; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool is_second = i / 2 == 1;
        const float sum = total[4 * t + i];
        if (row + t * kRowTile + i % 2 < n_rows && (is_second ? has_second : has_first))
          to[i % 2 * stride + (is_second ? 8 : 0)] =
              bias != nullptr ? __fadd_rn(sum, is_second ? second_bias : first_bias) : sum;
      }
      to += kRowTile * stride;
    }
  }
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The work of a warpgroup: the totals of one tile after the other. Z: ManySizes.
template <class F, class S, class Z>
struct Multiplier {
  static constexpr int kRows = S::kRows;
  using Sums = float[kRows / 2];
  // Fragments of kFragments steps are in registers, half of them loaded before they are needed.
  static constexpr int kFragments = S::kGroups == 3 ? 2 : 4, kAhead = kFragments / 2, kRunning = kFragments - kAhead;
  static constexpr int kUnitQuads = std::max(1, F::kUnitSteps / kStepsOfQuad);
  static constexpr bool kHasShortUnits = F::kUnitSteps < kStepsOfQuad;

  const ManyRows& p;
  const StageRing<S, Z>& ring;
  const StageReleases<S, Z>& releases;
  const std::uint32_t* table;  // of pairs of a codebook
  int lane, warp;
  int n_left;         // stages that are left in all parts
  int previous = -1;  // the stage before `at`, until it is released
  StageCursor<Z::kStages> at;
  uint4 vector;  // weights of F::kVectorSteps steps
  std::uint32_t fragments[kFragments][4];
  Sums sums;
  Sums total;

  __device__ __forceinline__ Multiplier(const ManyRows& of, const StageRing<S, Z>& from, const StageReleases<S, Z>& told,
                                        const std::uint32_t* pairs, int n_stages)
      : p(of),
        ring(from),
        releases(told),
        table(pairs),
        lane(static_cast<int>(threadIdx.x) % kWarp),
        warp(static_cast<int>(threadIdx.x) / kWarp),
        n_left(n_stages) {
    wait_phase(ring.full(0), 0);
    load<0>(0);
    if constexpr (kAhead > 1) load<1>(0);
  }

  /// Computes the fragment of a step.
  template <int kStepOf>
  __device__ __forceinline__ void load(int stage) {
    constexpr int kVector = kStepOf / F::kVectorSteps, kInVector = kStepOf % F::kVectorSteps;
    const std::uint32_t from = ring.stage(stage) + Z::kWeightsAt + warp * Z::kWeights + kVector * (kWarp * 16) + lane * 16;
    if constexpr (kInVector == 0) vector = read_shared<uint4>(from);
    std::uint32_t(&a)[4] = fragments[kStepOf % kFragments];
    exact_fragment<F, kInVector>(a, vector, p.constants, table);
    // Codes are converted here, while products run, and not where the fragment is used.
    if constexpr (F::kHasCodes) asm volatile("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]));
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kRows / 2; ++i) total[i] = 0;
  }

  /// Waits for the sums of a unit, and adds them.
  __device__ __forceinline__ void add(int stage, int unit) {
    StoredScales<F::kScales> stored{};
    if constexpr (F::kHasCodes)
      stored = read_shared<StoredScales<F::kScales>>(ring.stage(stage) + Z::kScalesAt + warp * Z::kScales +
                                                     unit * F::kScaleBytes + lane / 4 * sizeof(stored));
    wait_products<0>();
    pin(sums);
    const Scales scales = stored.widened();
#pragma unroll
    for (int t = 0; t < S::kRowTiles; ++t) {
      float2 of_x{0, 0};
      if constexpr (F::kHasOffset)
        of_x = read_shared<float2>(ring.stage(stage) + Z::kSumsAt + (t * Z::kStageUnits + unit) * (kRowTile * 4) +
                                   lane % 4 * 8);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        total[4 * t + i] =
            total_with<F::kScales>(total[4 * t + i], sums[4 * t + i], i % 2 == 0 ? of_x.x : of_x.y,
                                   i < 2 ? scales.scale.x : scales.scale.y, i < 2 ? scales.offset.x : scales.offset.y);
    }
  }

  template <bool kBegins, int kI>
  __device__ __forceinline__ void multiply_step(const StageCursor<Z::kStages>& next, std::uint64_t x) {
    constexpr bool kIsFirst = kHasShortUnits ? kI % F::kUnitSteps == 0 : kBegins && kI == 0;
    begin_products();
    multiply_async<kRows>(sums, fragments[kI % kFragments], x + 2 * kI, kIsFirst ? 0 : 1);
    commit_products();
    wait_products<kRunning>();
    if (kI == kRunning - 1 && previous >= 0) releases.release(previous, lane);
    constexpr int kNext = kI + kAhead;
    if (kNext == kStepsOfQuad && n_left > 1) wait_phase(ring.full(next.stage), next.parity);
    load<kNext % kStepsOfQuad>(kNext < kStepsOfQuad ? at.stage : next.stage);
    if constexpr (kHasShortUnits && (kI + 1) % F::kUnitSteps == 0) add(at.stage, kI / F::kUnitSteps);
  }

  /// Multiplies the 64 k of a stage. kBegins: a unit begins there.
  template <bool kBegins>
  __device__ __forceinline__ void multiply_stage() {
    StageCursor<Z::kStages> next = at;
    next.advance();
    const std::uint64_t x = descriptor_of(ring.stage(at.stage));
    [&]<int... kI>(std::integer_sequence<int, kI...>) {
      (multiply_step<kBegins, kI>(next, x), ...);
    }(std::make_integer_sequence<int, kStepsOfQuad>());
    previous = at.stage;
    at = next;
    --n_left;
  }

  /// Adds the next n_quads to the totals.
  __device__ __forceinline__ void multiply_quads(int n_quads) {
#pragma unroll 1
    for (int quad = 0; quad < n_quads; quad += kUnitQuads) {
      multiply_stage<true>();
      if constexpr (kUnitQuads > 1) {
#pragma unroll 1
        for (int i = min(kUnitQuads, n_quads - quad); i > 1; --i) multiply_stage<false>();
      }
      if constexpr (!kHasShortUnits) add(previous, 0);
    }
  }

  static constexpr int kHandedOfBlock = S::kRowTiles * S::kConsumers * kWarp;

  /// Hands the totals to the next block of the same place in its cluster.
  __device__ __forceinline__ void hand_over() const {
    float4* const to = p.handed + static_cast<std::int64_t>(blockIdx.x) * kHandedOfBlock + threadIdx.x;
#pragma unroll
    for (int t = 0; t < S::kRowTiles; ++t)
      __stcg(to + t * (S::kConsumers * kWarp),
             make_float4(total[4 * t], total[4 * t + 1], total[4 * t + 2], total[4 * t + 3]));
    __threadfence();
    __syncwarp();
    unsigned* const turn = p.turns + blockIdx.x * S::kConsumers + warp;
    if (lane == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;\n" ::"l"(turn), "r"(1) : "memory");
  }
  __device__ __forceinline__ void take_over() {
    const unsigned from_block = blockIdx.x - S::kCluster;
    unsigned* const turn = p.turns + from_block * S::kConsumers + warp;
    if (lane == 0) {
      wait_turn(turn);
      *turn = 0;
    }
    __syncwarp();
    const float4* const from = p.handed + static_cast<std::int64_t>(from_block) * kHandedOfBlock + threadIdx.x;
#pragma unroll
    for (int t = 0; t < S::kRowTiles; ++t) {
      const float4 four = __ldcg(from + t * (S::kConsumers * kWarp));
      total[4 * t] = four.x, total[4 * t + 1] = four.y, total[4 * t + 2] = four.z, total[4 * t + 3] = four.w;
    }
  }
  __device__ __forceinline__ static void wait_turn(const unsigned* turn) {
#ifdef LATHE_MOST_WAIT_CYCLES
    const long long begin = clock64();
#endif
    unsigned is_there = 0;
    while (true) {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n" : "=r"(is_there) : "l"(turn) : "memory");
      if (is_there != 0) return;
#ifdef LATHE_MOST_WAIT_CYCLES
      if (clock64() - begin > LATHE_MOST_WAIT_CYCLES) __trap();
#endif
    }
  }
};

/// The work of the warps that multiply.
template <class F, class S, class Z>
__device__ __forceinline__ void multiply_parts(const ManyRows& p, const StoreManyRows& end, const StageRing<S, Z>& ring,
                                               const std::uint32_t* table) {
  int n_stages = 0;
  for (PartWalk walk = parts_of_block<S>(p.split); walk.has_part(); walk.advance())
    n_stages += end_quad(walk.part(), p.n_quads) - first_quad(walk.part());
  const ClusterPlace<S> at_cluster;
  const StageReleases<S, Z> releases(ring, at_cluster, static_cast<int>(threadIdx.x) % kWarp);
  Multiplier<F, S, Z> multiplier(p, ring, releases, table, n_stages);
  for (PartWalk walk = parts_of_block<S>(p.split); walk.has_part(); walk.advance()) {
    if (walk.continues()) {
      wait_for_previous();
      multiplier.take_over();
    } else {
      multiplier.clear();
    }
    multiplier.multiply_quads(end_quad(walk.part(), p.n_quads) - first_quad(walk.part()));
    wait_for_previous();
    if (walk.hands_over()) multiplier.hand_over();
    else end.store<S>(multiplier.total, at_cluster.of(p.order, walk.part().tile));
  }
}

#endif

/// `end` stores the totals of a tile.
template <class F, class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    multiply_many_rows(const __grid_constant__ ManyRows p, const __grid_constant__ StoreManyRows end) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Z = ManySizes<F, S>;
  extern __shared__ unsigned char shared_of_many[];
  const StageRing<S, Z> ring(shared_of_many);
  std::uint32_t* table = nullptr;
  let_next_begin();
  if constexpr (F::kHasBook) {
    table = reinterpret_cast<std::uint32_t*>(shared_of_many + (ring.base - shared_address(shared_of_many)) + Z::kTableAt);
    fill_pair_table<S::kThreads>(table, p.constants);
    table += threadIdx.x % kWarp;
  }
  ring.init();
  if (threadIdx.x >= S::kConsumers * kWarp) {
    if constexpr (S::kGroups > 1) shrink_registers<S::kCopyRegisters>();
    if (threadIdx.x < (S::kConsumers + S::kCopyWarps) * kWarp) copy_stages<F, S, Z>(p, ring);
  } else {
    if constexpr (S::kGroups > 1) grow_registers<S::kRegisters>();
    multiply_parts<F, S, Z>(p, end, ring, table);
  }
  // Blocks of a cluster write into each other's memory until the last copy has been read.
  if constexpr (S::kCluster > 1) sync_cluster();
#endif
}

/// Clusters that the device runs at the same time: those whose blocks are on multiprocessors of one group.
template <class F, class S>
int n_clusters_of_device() {
  const auto kernel = multiply_many_rows<F, S>;
  constexpr std::size_t kShared = ManySizes<F, S>::kShared;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kShared)),
        "setting the shared memory of a product");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {S::kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(S::kCluster);
  config.blockDim = dim3(S::kThreads);
  config.dynamicSmemBytes = kShared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int n = 0;
  check(cudaOccupancyMaxActiveClusters(&n, kernel, &config), "querying the device");
  return std::max(n, 1);
}

/// Operands of launch_many().
struct ManyInput {
  const PreparedX& x;
  const StoredMatrix& matrix;
  const ManyScratch& scratch;
};

template <class F, class S>
ManyRows many_rows(const ManyInput& in, int n_clusters) {
  const MatrixLayout& layout = in.matrix.layout;
  LATHE_CHECK(layout.group == 0 || std::has_single_bit(static_cast<std::uint64_t>(layout.group)));
  const auto bytes = [](const void* data) { return static_cast<const std::byte*>(data); };
  const int n_tiles = static_cast<int>(layout.n_tiles()), n_row_tiles = static_cast<int>(div_up(in.x.n_rows, kRowTile));
  const int n_quads = static_cast<int>(layout.n_steps() / kStepsOfQuad);
  const TileOrder order{.n_out = static_cast<int>(div_up(n_tiles, S::kTiles * S::kClusterOut)),
                        .n_row = static_cast<int>(div_up(n_row_tiles, S::kRowTiles * S::kClusterRow)),
                        .band = std::max(1, S::kBandOutputs / (S::kTiles * kTile * S::kClusterOut))};
  auto* const handed = static_cast<std::byte*>(in.scratch.handed);
  const bool may_split =
      kTurnBytes + std::size_t{S::kOutputs} * S::kRows * sizeof(float) * n_clusters * S::kCluster <= in.scratch.handed_bytes;
  return {.weights = bytes(in.matrix.weights),
          .scales = bytes(in.matrix.scales),
          .x = bytes(in.x.data),
          .unit_sums = bytes(in.scratch.unit_sums),
          .handed = may_split ? reinterpret_cast<float4*>(handed + kTurnBytes) : nullptr,
          .turns = may_split ? reinterpret_cast<unsigned*>(handed) : nullptr,
          .n_row_tiles = n_row_tiles,
          .n_tiles = n_tiles,
          .n_quads = n_quads,
          .n_scale_groups = static_cast<int>(layout.n_groups()),
          .group_shift = layout.group == 0 ? 31 : std::countr_zero(static_cast<std::uint64_t>(layout.group)),
          .order = order,
          .split = split_tiles(order.n_tiles(), static_cast<int>(div_up(n_quads, kQuadsOfChunk)), n_clusters, may_split),
          .constants = code_constants(in.matrix)};
}

template <class F, class S>
void launch_many(Stream stream, const ManyInput& in, const StoreManyRows& end) {
  const int n_most_clusters = once_per_device([] { return n_clusters_of_device<F, S>(); });
  const ManyRows p = many_rows<F, S>(in, n_most_clusters);
  launch_dependent_clusters(multiply_many_rows<F, S>, dim3(static_cast<unsigned>(p.split.n_workers * S::kCluster)),
                            dim3(S::kThreads), S::kCluster, ManySizes<F, S>::kShared, stream, p, end);
}

}  // namespace lathe::kernels::cuda
