// SPDX-License-Identifier: Apache-2.0
// Sums of x over units of k, by the same products as those of weights, with weights of 1.
#include <algorithm>

#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/fragments.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kSteps = kQuad / kStep;

/// Each warp sums the units of 64 k, or one longer unit, of a tile of rows. A block of x in the layout of x_block_place()
/// has 32 pairs of bf16 in a row, and the 4 pairs of vector v are at v xor row.
__global__ void __launch_bounds__(kWarps* kWarp)
    sum(float* to, const std::uint32_t* x, int n_row_tiles, int n_quads, int unit_steps) {
  let_next_begin();
  wait_for_previous();
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int item = static_cast<int>(blockIdx.x) * kWarps + warp, quads_of_item = max(1, unit_steps / kSteps);
  const int first = item / n_row_tiles * quads_of_item, row_tile = item % n_row_tiles, row = lane / 4;
  const int end = min(first + quads_of_item, n_quads), units_of_quad = max(1, kSteps / unit_steps);
  float c[4] = {};
  for (int quad = first; quad < end; ++quad) {
    const std::uint32_t* const from =
        x + (static_cast<std::int64_t>(quad) * n_row_tiles + row_tile) * (kBlockBytes / 4) + row * (kQuad / 2);
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      constexpr std::uint32_t kOnes[4] = {0x3f803f80U, 0x3f803f80U, 0x3f803f80U, 0x3f803f80U};
      multiply_add(c, kOnes, make_uint2(from[(2 * i ^ row) * 4 + lane % 4], from[((2 * i + 1) ^ row) * 4 + lane % 4]));
      const bool ends = unit_steps < kSteps ? (i + 1) % unit_steps == 0 : quad == end - 1 && i == kSteps - 1;
      if (!ends) continue;
      const int unit = unit_steps < kSteps ? i / unit_steps : 0;
      float* const sums =
          to + ((static_cast<std::int64_t>(item / n_row_tiles) * n_row_tiles + row_tile) * units_of_quad + unit) * kRowTile;
      if (lane < 4) reinterpret_cast<float2*>(sums)[lane] = make_float2(c[0], c[1]);
      c[0] = c[1] = c[2] = c[3] = 0;
    }
  }
}

}  // namespace

void sum_units(Stream stream, float* to, const PreparedX& x, std::int64_t unit) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.is_bf16 && x.in_blocks && unit % kStep == 0 && (kQuad % unit == 0 || unit % kQuad == 0));
  const std::int64_t n_row_tiles = div_up(x.n_rows, kRowTile);
  const std::int64_t n_items = n_row_tiles * div_up(x.padded_k, std::max<std::int64_t>(unit, kQuad));
  launch_dependent(sum, dim3(static_cast<unsigned>(div_up(n_items, kWarps))), dim3(kWarps * kWarp), 0, stream, to,
                   static_cast<const std::uint32_t*>(x.data), static_cast<int>(n_row_tiles),
                   static_cast<int>(x.padded_k / kQuad), static_cast<int>(unit / kStep));
}

}  // namespace lathe::kernels::cuda
