// SPDX-License-Identifier: Apache-2.0
// Expands codes to weights in bf16, with the same bits that multiply_few() multiplies.
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 8;

/// Each warp expands one Quad of a tile.
template <class Piece>
__global__ void expand_tiles(uint4* to, TiledWeights w, std::int64_t first_tile, std::int64_t n_quads) {
  __shared__ float book[16];
  if (threadIdx.x < 16) book[threadIdx.x] = w.book[threadIdx.x];
  __syncthreads();
  const int lane = threadIdx.x % kWarp;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (at >= n_quads) return;
  const int quads_of_tile = w.n_steps / 4;
  Piece piece;
  piece.load(w, first_tile + at / quads_of_tile, static_cast<int>(at % quads_of_tile), lane);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    std::uint32_t a[4];
    piece.fragment(i, w, book, a);
    to[(at * 4 + i) * kWarp + lane] = make_uint4(a[0], a[1], a[2], a[3]);
  }
}

}  // namespace

void expand(Stream stream, void* to, const StoredMatrix& matrix, std::int64_t first_tile, std::int64_t n_tiles) {
  const std::int64_t n_quads = n_tiles * (matrix.layout.n_steps() / 4);
  const auto n_blocks = static_cast<unsigned>(div_up(n_quads, kWarps));
  for_codes(matrix, [&](auto piece) {
    expand_tiles<decltype(piece)>
        <<<n_blocks, kWarps * kWarp, 0, stream>>>(static_cast<uint4*>(to), tiled(matrix), first_tile, n_quads);
  });
  check_launch();
}

}  // namespace lathe::kernels::cuda
