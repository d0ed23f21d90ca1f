// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (RoPE). Source: Su et al. 2021.
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 128;

/// Each thread rotates one pair of one head.
__global__ void turn(Rows x, int n_heads, int head_dim, const std::int32_t* positions, Rows cos, Rows sin, RopeStyle style) {
  const int half = static_cast<int>(cos.n_columns), at = static_cast<int>(blockIdx.y) * kThreads + threadIdx.x;
  if (at >= n_heads * half) return;
  const std::int64_t row = blockIdx.x, position = positions[row];
  const int head = at / half, i = at % half;
  float* const numbers = x.data + row * x.stride + static_cast<std::int64_t>(head) * head_dim;
  float& a = style == RopeStyle::half ? numbers[i] : numbers[2 * i];
  float& b = style == RopeStyle::half ? numbers[i + half] : numbers[2 * i + 1];
  const float c = cos.data[position * cos.stride + i], s = sin.data[position * sin.stride + i];
  const float turned_a = a * c - b * s, turned_b = b * c + a * s;
  a = turned_a;
  b = turned_b;
}

}  // namespace

void rope(Stream stream, const Rows& x, int n_heads, int head_dim, const std::int32_t* positions, const Rows& cos,
          const Rows& sin, RopeStyle style) {
  if (x.n_rows == 0 || cos.n_columns == 0) return;
  const dim3 grid(static_cast<unsigned>(x.n_rows), static_cast<unsigned>(div_up(n_heads * cos.n_columns, kThreads)));
  turn<<<grid, kThreads, 0, stream>>>(x, n_heads, head_dim, positions, cos, sin, style);
  check_launch();
}

}  // namespace lathe::kernels::cuda
