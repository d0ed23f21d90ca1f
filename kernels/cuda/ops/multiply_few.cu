// SPDX-License-Identifier: Apache-2.0
// Products with few rows, bound by reading the weights. A block of threads has 16 outputs and all rows of a launch; its
// warps share the chunks of k. Sums of chunks are added in order, as in multiply_many().
#include <algorithm>

#include "kernels/cuda/ops/fragments.cuh"
#include "kernels/cuda/ops/launch.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kQuadsOfChunk = kChunk / kQuad;
// Shared memory for sums of chunks: with 16 KB each, several blocks of threads fit on a multiprocessor.
constexpr int kSumBytes = 16 << 10;
constexpr int kTileSums = kTile * kRowTile;
// Most row tiles of one launch: sums of more do not fit into registers.
constexpr int kMostRowTiles = 8;

/// Adds the products of one chunk of k to c; c[t] has the sums of row tile t.
template <class Piece, int kRowTiles>
__device__ void multiply_chunk(float (&c)[kRowTiles][4], const TiledWeights& w, const uint2* x, std::int64_t tile, int chunk,
                               int n_rows, const float* book) {
  const int lane = threadIdx.x % kWarp, n_quads = w.n_steps / 4;
  Piece quads[kQuadsOfChunk];
#pragma unroll
  for (int q = 0; q < kQuadsOfChunk; ++q) {
    const int quad = chunk * kQuadsOfChunk + q;
    quad < n_quads ? quads[q].load(w, tile, quad, lane) : quads[q].clear();
  }
#pragma unroll
  for (int q = 0; q < kQuadsOfChunk; ++q) {
    const int quad = chunk * kQuadsOfChunk + q;
    if (quad >= n_quads) break;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      std::uint32_t a[4];
      quads[q].fragment(i, w, book, a);
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        uint2 b{0, 0};
        if (t * kRowTile + lane / 4 < n_rows)
          b = x[(static_cast<std::int64_t>(t) * w.n_steps + quad * 4 + i) * kWarp + lane];
        multiply_add(c[t], a, b);
      }
    }
  }
}

template <class Piece, int kRowTiles>
__global__ void __launch_bounds__(kThreads)
    multiply(float* out, std::int64_t stride, const uint2* x, int n_rows, TiledWeights w, int n_outputs, const float* bias) {
  constexpr int kSlots = std::max(kWarps, kSumBytes / (kRowTiles * kTileSums * 4));
  constexpr int kOwn = (kRowTiles * kTileSums + kThreads - 1) / kThreads;
  __shared__ float4 sums[kSlots][kRowTiles][kWarp];
  __shared__ float book[16];
  if (threadIdx.x < 16) book[threadIdx.x] = w.book[threadIdx.x];
  __syncthreads();
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int64_t tile = blockIdx.x;
  const int n_chunks = (w.n_steps * kStep + kChunk - 1) / kChunk;
  float total[kOwn] = {};
  for (int base = 0; base < n_chunks; base += kSlots) {
    const int end = min(base + kSlots, n_chunks);
    for (int chunk = base + warp; chunk < end; chunk += kWarps) {
      float c[kRowTiles][4] = {};
      multiply_chunk<Piece, kRowTiles>(c, w, x, tile, chunk, n_rows, book);
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) sums[chunk - base][t][lane] = make_float4(c[t][0], c[t][1], c[t][2], c[t][3]);
    }
    __syncthreads();
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int at = own * kThreads + threadIdx.x;
      if (at >= kRowTiles * kTileSums) break;
      for (int chunk = base; chunk < end; ++chunk)
        total[own] += reinterpret_cast<const float*>(sums)[(chunk - base) * kRowTiles * kTileSums + at];
    }
    __syncthreads();
  }
#pragma unroll
  for (int own = 0; own < kOwn; ++own) {
    const int at = own * kThreads + threadIdx.x;
    if (at >= kRowTiles * kTileSums) break;
    const int holder = at % kTileSums / 4, i = at % 4;
    const std::int64_t row = at / kTileSums * kRowTile + holder % 4 * 2 + i % 2;
    const std::int64_t output = tile * kTile + holder / 4 + i / 2 * 8;
    if (row >= n_rows || output >= n_outputs) continue;
    out[row * stride + output] = bias != nullptr ? total[own] + bias[output] : total[own];
  }
}

template <class Piece>
void launch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  const auto n_tiles = static_cast<unsigned>(matrix.layout.n_tiles());
  const TiledWeights w = tiled(matrix);
  const auto* const from = static_cast<const uint2*>(x.data);
  const int n = static_cast<int>(matrix.layout.n);
  for (std::int64_t first = 0; first < x.n_rows; first += kMostRowTiles * kRowTile) {
    const int n_rows = static_cast<int>(std::min<std::int64_t>(x.n_rows - first, kMostRowTiles * kRowTile));
    const auto run = [&](auto* kernel) {
      const uint2* const rows = from + first / kRowTile * w.n_steps * kWarp;
      kernel<<<n_tiles, kThreads, 0, stream>>>(out.data + first * out.stride, out.stride, rows, n_rows, w, n, bias);
    };
    if (n_rows <= kRowTile) run(multiply<Piece, 1>);
    else if (n_rows <= 2 * kRowTile) run(multiply<Piece, 2>);
    else if (n_rows <= 4 * kRowTile) run(multiply<Piece, 4>);
    else run(multiply<Piece, kMostRowTiles>);
  }
}

}  // namespace

void multiply_few(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.n_rows <= kMaxFewRows && x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  for_pieces(matrix, [&](auto piece) { launch<decltype(piece)>(stream, out, x, matrix, bias); });
  check_launch();
}

}  // namespace lathe::kernels::cuda
