// SPDX-License-Identifier: Apache-2.0
// Products of bf16 with many rows by wgmma. A warpgroup has 64 outputs, whose weights its threads take from shared memory
// into registers, and the rows of the block. Sums have the same bits as in multiply_few(): each chunk of 256 k is summed
// separately, and chunks are added in order.
#include <algorithm>

#include "kernels/cuda/ops/launch.cuh"
#include "kernels/cuda/ops/many_rows.cuh"
#include "kernels/cuda/ops/wgmma.cuh"

namespace lathe::kernels::cuda {

inline constexpr int kQuadsOfChunk = kChunk / kQuad;
inline constexpr int kStepsOfQuad = kQuad / kStep;
inline constexpr int kTileStepBytes = kTile * kStep * 2;

/// A block's shape, and how a warpgroup keeps the tensor cores busy: fragments of kFragments steps are in registers, kAhead
/// of them loaded before they are needed; with two sums a chunk is added while the next one is being multiplied.
template <int kGroups, int kRowTiles, int kStages, int kClusterOut, int kClusterRow, int kFragmentsOfThread,
          int kAheadOfStep, int kSumsOfThread>
struct Bf16Shape : ManyShape<kGroups, kRowTiles, kStages, kClusterOut, kClusterRow, kStepsOfQuad * kTileStepBytes> {
  static constexpr int kFragments = kFragmentsOfThread, kAhead = kAheadOfStep;
  static constexpr int kSums = kSumsOfThread;
  static constexpr int kRunning = kFragments - kAhead;  // products that still run when their step's successor is loaded
  static_assert(kStepsOfQuad % kFragments == 0 && kRunning >= 1 && kRunning <= kStepsOfQuad && kAhead >= 1);
};

namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// What a warpgroup does.
template <class S>
struct Multiplier {
  static constexpr int kRows = S::kRows;
  using Sums = float[kRows / 2];

  const StageRing<S>& ring;
  const StageReleases<S>& releases;
  int lane, warp;
  int n_left;         // stages that are left in all tiles
  int previous = -1;  // the stage before `at`, until it is released
  StageCursor<S::kStages> at;
  std::uint32_t fragments[S::kFragments][4];
  Sums total;

  __device__ __forceinline__ Multiplier(const StageRing<S>& of, const StageReleases<S>& told, int n_stages)
      : ring(of),
        releases(told),
        lane(static_cast<int>(threadIdx.x) % kWarp),
        warp(static_cast<int>(threadIdx.x) / kWarp),
        n_left(n_stages) {
    wait_phase(ring.full(0), 0);
#pragma unroll
    for (int i = 0; i < S::kAhead; ++i) load(fragments[i], 0, i);
  }

  __device__ __forceinline__ void load(std::uint32_t (&a)[4], int stage, int step) const {
    const std::uint32_t from = ring.weights(stage) + warp * S::kQuadBytes + lane * 16 + step * kTileStepBytes;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];\n" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from));
  }

  __device__ __forceinline__ void add(Sums& sums) {
    pin(sums);
#pragma unroll
    for (int i = 0; i < kRows / 2; ++i) total[i] += sums[i];
  }

  /// Multiplies the 64 k of a stage. In the first one of a chunk, `earlier` sums of the chunk before it are added.
  template <bool kIsFirst>
  __device__ __forceinline__ void multiply_stage(Sums& sums, Sums& earlier) {
    StageCursor<S::kStages> next = at;
    next.advance();
    const std::uint64_t x = descriptor_of(ring.x(at.stage));
#pragma unroll
    for (int i = 0; i < kStepsOfQuad; ++i) {
      begin_products();
      multiply_async<kRows>(sums, fragments[i % S::kFragments], x + 2 * i, kIsFirst && i == 0 ? 0 : 1);
      commit_products();
      wait_products<S::kRunning>();
      if (i == S::kRunning - 1) {
        if (previous >= 0) releases.release(previous, lane);
        if constexpr (kIsFirst && S::kSums == 2) add(earlier);
      }
      const int ahead = i + S::kAhead;
      if (ahead == kStepsOfQuad && n_left > 1) wait_phase(ring.full(next.stage), next.parity);
      load(fragments[ahead % S::kFragments], ahead < kStepsOfQuad ? at.stage : next.stage, ahead % kStepsOfQuad);
    }
    previous = at.stage;
    at = next;
    --n_left;
  }

  __device__ __forceinline__ void multiply_chunk(Sums& sums, Sums& earlier, int n_quads) {
    multiply_stage<true>(sums, earlier);
#pragma unroll 1
    for (int i = 1; i < n_quads; ++i) multiply_stage<false>(sums, earlier);
  }

  /// Computes `total` of one tile.
  __device__ __forceinline__ void multiply_tile(int n_quads) {
#pragma unroll
    for (int i = 0; i < kRows / 2; ++i) total[i] = 0;
    if constexpr (S::kSums == 1) {
      Sums sums;
#pragma unroll 1
      for (int quad = 0; quad < n_quads; quad += kQuadsOfChunk) {
        multiply_chunk(sums, sums, min(n_quads - quad, kQuadsOfChunk));
        wait_products<0>();
        add(sums);
      }
    } else {
      Sums even, odd;
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) odd[i] = 0;
      for (int quad = 0;;) {
        multiply_chunk(even, odd, min(n_quads - quad, kQuadsOfChunk));
        if ((quad += kQuadsOfChunk) >= n_quads) {
          wait_products<0>();
          return add(even);
        }
        multiply_chunk(odd, even, min(n_quads - quad, kQuadsOfChunk));
        if ((quad += kQuadsOfChunk) >= n_quads) {
          wait_products<0>();
          return add(odd);
        }
      }
    }
  }

  __device__ __forceinline__ void store(const ManyRows& p, const TilePlace& place) const {
    const int output = place.out * S::kOutputs + warp * kTile + lane / 4;
    const int row = place.row * kRows + lane % 4 * 2;
    const bool has_first = output < p.n_outputs, has_second = output + 8 < p.n_outputs;
    const float first_bias = p.bias != nullptr && has_first ? p.bias[output] : 0;
    const float second_bias = p.bias != nullptr && has_second ? p.bias[output + 8] : 0;
    float* to = p.out + row * p.stride + output;
#pragma unroll
    for (int t = 0; t < S::kRowTiles; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool is_second = i / 2 == 1;
        const float sum = total[4 * t + i];
        if (row + t * kRowTile + i % 2 < p.n_rows && (is_second ? has_second : has_first))
          to[i % 2 * p.stride + (is_second ? 8 : 0)] =
              p.bias != nullptr ? sum + (is_second ? second_bias : first_bias) : sum;
      }
      to += kRowTile * p.stride;
    }
  }
};

#endif

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1) multiply(ManyRows p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint4 memory[];
  const StageRing<S> ring(memory);
  let_next_begin();
  ring.init();
  if (threadIdx.x >= S::kConsumers * kWarp) {
    shrink_registers<S::kCopyRegisters>();
    if (threadIdx.x < (S::kConsumers + 1) * kWarp) copy_stages<S>(p, ring);
  } else {
    grow_registers<S::kRegisters>();
    TileWalk<S> walk(p.order);
    const StageReleases<S> releases(ring, walk, static_cast<int>(threadIdx.x) % kWarp);
    Multiplier<S> multiplier(ring, releases, walk.n_left() * p.n_quads);
    for (; walk.has_tile(); walk.advance()) {
      multiplier.multiply_tile(p.n_quads);
      wait_for_previous();
      multiplier.store(p, walk.place());
    }
  }
  // Blocks of a cluster write into each other's memory until the last copy has been read.
  if constexpr (S::kCluster > 1) sync_cluster();
#endif
}

/// Clusters that the device runs at the same time: those whose blocks are on multiprocessors of one group.
template <class S>
int n_clusters_of_device() {
  check(cudaFuncSetAttribute(multiply<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(S::kSharedBytes)),
        "setting the shared memory of a product");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {S::kCluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(S::kCluster);
  config.blockDim = dim3(S::kThreads);
  config.dynamicSmemBytes = S::kSharedBytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int n = 0;
  check(cudaOccupancyMaxActiveClusters(&n, multiply<S>, &config), "querying the device");
  return std::max(n, 1);
}

template <class S>
void launch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  static const int n_most_clusters = n_clusters_of_device<S>();
  const int n_tiles = static_cast<int>(matrix.layout.n_tiles());
  const int n_row_tiles = static_cast<int>(div_up(x.n_rows, kRowTile));
  constexpr int kBandOutputs = 2048;
  const ManyRows p{.out = out.data,
                   .stride = out.stride,
                   .weights = static_cast<const std::uint8_t*>(matrix.weights),
                   .x = static_cast<const std::uint8_t*>(x.data),
                   .bias = bias,
                   .n_rows = static_cast<int>(x.n_rows),
                   .n_outputs = static_cast<int>(matrix.layout.n),
                   .n_row_tiles = n_row_tiles,
                   .n_tiles = n_tiles,
                   .n_quads = static_cast<int>(matrix.layout.n_steps() / kStepsOfQuad),
                   .order = {.n_out = static_cast<int>(div_up(n_tiles, S::kTiles * S::kClusterOut)),
                             .n_row = static_cast<int>(div_up(n_row_tiles, S::kRowTiles * S::kClusterRow)),
                             .band = kBandOutputs / (S::kOutputs * S::kClusterOut)}};
  const int n_clusters = std::min(p.order.n_tiles(), n_most_clusters);
  launch_dependent_clusters(multiply<S>, dim3(static_cast<unsigned>(n_clusters * S::kCluster)), dim3(S::kThreads),
                            S::kCluster, S::kSharedBytes, stream, p);
}

using Whole = Bf16Shape<2, 16, 6, 1, 2, 4, 2, 2>;  // 128 outputs, 128 rows

int device_number(cudaDeviceAttr attribute) {
  int device = 0, number = 0;
  check(cudaGetDevice(&device), "querying the device");
  check(cudaDeviceGetAttribute(&number, attribute, device), "querying the device");
  return number;
}

}  // namespace

bool has_wgmma() {
  static const bool has =
      device_number(cudaDevAttrComputeCapabilityMajor) == 9 && device_number(cudaDevAttrComputeCapabilityMinor) == 0;
  return has;
}

void multiply_many(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(matrix.layout.storage == Storage::bf16 && x.is_bf16 && x.in_blocks && has_wgmma());
  LATHE_CHECK(x.padded_k == matrix.layout.padded_k());
  launch<Whole>(stream, out, x, matrix, bias);
}

}  // namespace lathe::kernels::cuda
