// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (RoPE).
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/heads.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 128;

/// Each thread rotates one pair of one head.
__global__ void turn(Rows x, int n_heads, int head_dim, const std::int32_t* positions, RopeRows rope) {
  let_next_begin();
  wait_for_previous();
  const int half = static_cast<int>(rope.cos.n_columns), at = static_cast<int>(blockIdx.y) * kThreads + threadIdx.x;
  if (at >= n_heads * half) return;
  const std::int64_t row = blockIdx.x;
  turn_pair(x.data + row * x.stride + static_cast<std::int64_t>(at / half) * head_dim, at % half, rope, positions[row]);
}

}  // namespace

void rope(Stream stream, const Rows& x, int n_heads, int head_dim, const std::int32_t* positions, const RopeRows& rope) {
  if (x.n_rows == 0 || rope.cos.n_columns == 0) return;
  const dim3 grid(static_cast<unsigned>(x.n_rows), static_cast<unsigned>(div_up(n_heads * rope.cos.n_columns, kThreads)));
  launch_dependent(turn, grid, kThreads, 0, stream, x, n_heads, head_dim, positions, rope);
}

}  // namespace lathe::kernels::cuda
