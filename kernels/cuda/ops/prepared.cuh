// SPDX-License-Identifier: Apache-2.0
// Stores elements of PreparedX.
#pragma once

#include <cuda_bf16.h>

#include "kernels/cuda/ops/fragments.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

__device__ inline void store(const PreparedX& to, std::int64_t row, std::int64_t k, float number) {
  if (to.is_bf16) {
    const std::int64_t place =
        to.in_blocks ? x_block_place(row, k, div_up(to.n_rows, kRowTile)) : x_place(row, k, to.padded_k / kStep);
    static_cast<__nv_bfloat16*>(to.data)[place] = __float2bfloat16_rn(number);
  } else {
    static_cast<float*>(to.data)[row * to.padded_k + k] = number;
  }
}

static_assert(x_place(3, 7, 4) == x_place(3, 6, 4) + 1 && x_block_place(3, 7, 4) == x_block_place(3, 6, 4) + 1);
/// Index of the first of elements k and k + 1 of a row in bf16, which are adjacent in both layouts. Requires: k is even.
__device__ inline std::int64_t place_of_pair(const PreparedX& to, std::int64_t row, std::int64_t k) {
  return to.in_blocks ? x_block_place(row, k, div_up(to.n_rows, kRowTile)) : x_place(row, k, to.padded_k / kStep);
}

/// Stores elements k to k + 3 of a row. Requires: k is a multiple of 4.
__device__ inline void store_four(const PreparedX& to, std::int64_t row, std::int64_t k, float4 numbers) {
  if (!to.is_bf16) {
    *reinterpret_cast<float4*>(static_cast<float*>(to.data) + row * to.padded_k + k) = numbers;
    return;
  }
  auto* const data = static_cast<__nv_bfloat16*>(to.data);
  *reinterpret_cast<std::uint32_t*>(data + place_of_pair(to, row, k)) = packed(numbers.x, numbers.y);
  *reinterpret_cast<std::uint32_t*>(data + place_of_pair(to, row, k + 2)) = packed(numbers.z, numbers.w);
}

inline constexpr int kEight = 8;

/// Stores elements k to k + 7 of a row. Requires: k is a multiple of 8.
__device__ inline void store_eight(const PreparedX& to, std::int64_t row, std::int64_t k, const float (&numbers)[kEight]) {
  if (!to.is_bf16) {
    auto* const place = reinterpret_cast<float4*>(static_cast<float*>(to.data) + row * to.padded_k + k);
    place[0] = make_float4(numbers[0], numbers[1], numbers[2], numbers[3]);
    place[1] = make_float4(numbers[4], numbers[5], numbers[6], numbers[7]);
    return;
  }
  std::uint32_t pairs[kEight / 2];
#pragma unroll
  for (int i = 0; i < kEight / 2; ++i) pairs[i] = packed(numbers[2 * i], numbers[2 * i + 1]);
  auto* const data = static_cast<__nv_bfloat16*>(to.data);
  if (to.in_blocks) {
    const std::int64_t place = x_block_place(row, k, div_up(to.n_rows, kRowTile));
    *reinterpret_cast<uint4*>(data + place) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < kEight / 2; ++i)
    *reinterpret_cast<std::uint32_t*>(data + x_place(row, k + 2 * i, to.padded_k / kStep)) = pairs[i];
}

}  // namespace lathe::kernels::cuda
