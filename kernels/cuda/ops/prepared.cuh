// SPDX-License-Identifier: Apache-2.0
// Stores elements of PreparedX.
#pragma once

#include <cuda_bf16.h>

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

}  // namespace lathe::kernels::cuda
