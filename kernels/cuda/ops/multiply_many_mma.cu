// SPDX-License-Identifier: Apache-2.0
// Products with many rows by mma.sync, for devices without wgmma: a block of threads has 128 outputs and 128 rows, which pass
// through shared memory in stages of 64 k. Sums have the same bits as in multiply_few(): each chunk of 256 k is summed
// separately, and chunks are added in order.
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kStages = 4;
constexpr int kStageSteps = 4;  // 64 of k
constexpr int kChunkStages = kChunk / (kStageSteps * kStep);
constexpr int kTileVectors = kStageSteps * kWarp;         // 16-byte vectors of a stage for a tile of 16 outputs
constexpr int kRowTileVectors = kStageSteps * kWarp / 2;  // 16-byte vectors of a stage for a tile of 8 rows

/// Copies 16 bytes from global to shared memory asynchronously; writes zeros if not `is_there`.
__device__ inline void copy_async(void* to, const void* from, bool is_there) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int n_bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(address), "l"(from), "r"(n_bytes));
}

/// Division of the outputs and rows of a block of threads among its warps.
template <int kOutTiles, int kRowTiles, int kWarpsOut>
struct Cut {
  static constexpr int kOut = kOutTiles, kRow = kRowTiles;
  static constexpr int kWarpsRow = kWarps / kWarpsOut;
  static constexpr int kOutOfWarp = kOutTiles / kWarpsOut, kRowOfWarp = kRowTiles / kWarpsRow;
  static constexpr int kOutVectors = kOutTiles * kTileVectors, kRowVectors = kRowTiles * kRowTileVectors;
  static constexpr int kStageVectors = kOutVectors + kRowVectors;
  static constexpr std::size_t kSharedBytes = std::size_t{kStages} * kStageVectors * sizeof(uint4);
};

struct Operands {
  const uint4* weights;
  const uint4* x;
  int n_steps;
  int n_tiles;
  int n_row_tiles;
};

template <class C>
__device__ void load_stage(uint4* stage, const Operands& in, int first_tile, int first_row_tile, int step) {
  for (int i = threadIdx.x; i < C::kOutVectors; i += kThreads) {
    const int tile = first_tile + i / kTileVectors;
    const bool is_there = tile < in.n_tiles && step < in.n_steps;
    const std::int64_t at = (static_cast<std::int64_t>(tile) * in.n_steps + step) * kWarp + i % kTileVectors;
    copy_async(stage + i, in.weights + (is_there ? at : 0), is_there);
  }
  for (int i = threadIdx.x; i < C::kRowVectors; i += kThreads) {
    const int tile = first_row_tile + i / kRowTileVectors;
    const bool is_there = tile < in.n_row_tiles && step < in.n_steps;
    const std::int64_t at = (static_cast<std::int64_t>(tile) * in.n_steps + step) * (kWarp / 2) + i % kRowTileVectors;
    copy_async(stage + C::kOutVectors + i, in.x + (is_there ? at : 0), is_there);
  }
  asm volatile("cp.async.commit_group;\n");
}

template <class C>
using Sums = float[C::kOutOfWarp][C::kRowOfWarp][4];

template <class C>
__device__ void multiply_stage(Sums<C>& c, const uint4* stage, int warp_out, int warp_row) {
  const int lane = threadIdx.x % kWarp;
  const auto* const rows = reinterpret_cast<const uint2*>(stage + C::kOutVectors);
#pragma unroll
  for (int s = 0; s < kStageSteps; ++s) {
    std::uint32_t a[C::kOutOfWarp][4];
    uint2 b[C::kRowOfWarp];
#pragma unroll
    for (int o = 0; o < C::kOutOfWarp; ++o) {
      const uint4 piece = stage[(warp_out * C::kOutOfWarp + o) * kTileVectors + s * kWarp + lane];
      a[o][0] = piece.x, a[o][1] = piece.y, a[o][2] = piece.z, a[o][3] = piece.w;
    }
#pragma unroll
    for (int r = 0; r < C::kRowOfWarp; ++r)
      b[r] = rows[(warp_row * C::kRowOfWarp + r) * (2 * kRowTileVectors) + s * kWarp + lane];
#pragma unroll
    for (int o = 0; o < C::kOutOfWarp; ++o) {
#pragma unroll
      for (int r = 0; r < C::kRowOfWarp; ++r) multiply_add(c[o][r], a[o], b[r]);
    }
  }
}

/// total += c; c = 0.
template <class C>
__device__ void add_chunk(Sums<C>& total, Sums<C>& c) {
#pragma unroll
  for (int o = 0; o < C::kOutOfWarp; ++o) {
#pragma unroll
    for (int r = 0; r < C::kRowOfWarp; ++r) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        total[o][r][i] += c[o][r][i];
        c[o][r][i] = 0;
      }
    }
  }
}

template <class C>
__device__ void store(const Sums<C>& total, float* out, std::int64_t stride, int n_rows, int n_outputs, int tile,
                      int row_tile, const float* bias) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int o = 0; o < C::kOutOfWarp; ++o) {
#pragma unroll
    for (int r = 0; r < C::kRowOfWarp; ++r) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::int64_t row = (row_tile + r) * kRowTile + lane % 4 * 2 + i % 2;
        const int output = (tile + o) * kTile + lane / 4 + i / 2 * 8;
        if (row < n_rows && output < n_outputs)
          out[row * stride + output] = bias != nullptr ? total[o][r][i] + bias[output] : total[o][r][i];
      }
    }
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads, 1)
    multiply(float* out, std::int64_t stride, Operands in, int n_rows, int n_outputs, const float* bias) {
  extern __shared__ uint4 stages[];
  const int warp = threadIdx.x / kWarp, warp_out = warp / C::kWarpsRow, warp_row = warp % C::kWarpsRow;
  const int first_tile = blockIdx.y * C::kOut, first_row_tile = blockIdx.x * C::kRow;
  const int n_stages = in.n_steps / kStageSteps;
  for (int s = 0; s < kStages - 1; ++s)
    load_stage<C>(stages + s * C::kStageVectors, in, first_tile, first_row_tile, s * kStageSteps);
  Sums<C> c = {}, total = {};
  for (int s = 0; s < n_stages; ++s) {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(kStages - 2));
    __syncthreads();
    const int next = s + kStages - 1;
    load_stage<C>(stages + next % kStages * C::kStageVectors, in, first_tile, first_row_tile, next * kStageSteps);
    multiply_stage<C>(c, stages + s % kStages * C::kStageVectors, warp_out, warp_row);
    if ((s + 1) % kChunkStages == 0) add_chunk<C>(total, c);
  }
  if (n_stages % kChunkStages != 0) add_chunk<C>(total, c);
  store<C>(total, out, stride, n_rows, n_outputs, first_tile + warp_out * C::kOutOfWarp,
           first_row_tile + warp_row * C::kRowOfWarp, bias);
}

template <class C>
void launch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  const Operands in{.weights = static_cast<const uint4*>(matrix.weights),
                    .x = static_cast<const uint4*>(x.data),
                    .n_steps = static_cast<int>(matrix.layout.n_steps()),
                    .n_tiles = static_cast<int>(matrix.layout.n_tiles()),
                    .n_row_tiles = static_cast<int>(div_up(x.n_rows, kRowTile))};
  check(cudaFuncSetAttribute(multiply<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(C::kSharedBytes)),
        "setting the shared memory of a product");
  // Blocks with the same outputs are adjacent, so that they share the weights, the larger operand, in the cache.
  const dim3 grid(static_cast<unsigned>(div_up(in.n_row_tiles, C::kRow)),
                  static_cast<unsigned>(div_up(in.n_tiles, C::kOut)));
  multiply<C><<<grid, kThreads, C::kSharedBytes, stream>>>(out.data, out.stride, in, static_cast<int>(x.n_rows),
                                                           static_cast<int>(matrix.layout.n), bias);
}

using Whole = Cut<8, 16, 2>;  // 128 outputs, 128 rows

}  // namespace

void multiply_many_mma(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(matrix.layout.storage == Storage::bf16 && x.is_bf16 && !x.in_blocks && x.padded_k == matrix.layout.padded_k());
  launch<Whole>(stream, out, x, matrix, bias);
  check_launch();
}

}  // namespace lathe::kernels::cuda
