// SPDX-License-Identifier: Apache-2.0
// Norms of rows and of heads. Equations: NormKind in kernels/api/backend.h.
#include "kernels/cuda/ops/launch.cuh"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kRowThreads = 512;
constexpr int kHeadThreads = 32;

/// The sum over all threads of a block, returned to each of them; the order of the additions is fixed.
template <int kThreads>
__device__ float sum_of_block(float number) {
  for (int other = kWarp / 2; other > 0; other /= 2) number += __shfl_xor_sync(0xffffffffU, number, other);
  if constexpr (kThreads > kWarp) {
    __shared__ float warps[kThreads / kWarp];
    __syncthreads();
    if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = number;
    __syncthreads();
    number = 0;
    for (int i = 0; i < kThreads / kWarp; ++i) number += warps[i];
  }
  return number;
}

/// Normalises one row of n elements with a block of threads; `delta` may be null. Calls also(i, value) for each result.
template <int kThreads, class Also>
__device__ void norm_row(float* out, float* x, const float* delta, int n, const NormRows& norm, const float* weight,
                         const float* bias, const Also& also) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) {
    if (delta != nullptr) x[i] += delta[i];
    sum += norm.kind == NormKind::layer ? x[i] : 0.0F;
  }
  const float mean = norm.kind == NormKind::layer ? sum_of_block<kThreads>(sum) / static_cast<float>(n) : 0.0F;
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) squares = fmaf(x[i] - mean, x[i] - mean, squares);
  const float scale = 1.0F / sqrtf(sum_of_block<kThreads>(squares) / static_cast<float>(n) + norm.eps);
  for (int i = threadIdx.x; i < n; i += kThreads) {
    const float number = fmaf((x[i] - mean) * scale, weight[i], bias != nullptr ? bias[i] : 0.0F);
    out[i] = number;
    also(i, number);
  }
}

__global__ void __launch_bounds__(kRowThreads) norm_rows(Rows out, Rows x, Rows delta, NormRows norm, PreparedX prepared) {
  const std::int64_t row = blockIdx.x;
  const int n = static_cast<int>(x.n_columns);
  const float* const added = delta.data != nullptr ? delta.data + row * delta.stride : nullptr;
  norm_row<kRowThreads>(out.data + row * out.stride, x.data + row * x.stride, added, n, norm, norm.weight, norm.bias,
                        [&](int i, float number) {
                          if (prepared.data != nullptr) store(prepared, row, i, number);
                        });
  if (prepared.data == nullptr) return;
  for (std::int64_t i = n + threadIdx.x; i < prepared.padded_k; i += kRowThreads) store(prepared, row, i, 0);
}

__global__ void __launch_bounds__(kHeadThreads) norm_each_head(Rows x, int head_dim, NormRows norm, bool has_own_weights) {
  const int first = static_cast<int>(blockIdx.y) * head_dim, own = has_own_weights ? first : 0;
  float* const head = x.data + static_cast<std::int64_t>(blockIdx.x) * x.stride + first;
  norm_row<kHeadThreads>(head, head, nullptr, head_dim, norm, norm.weight + own,
                         norm.bias != nullptr ? norm.bias + own : nullptr, [](int, float) {});
}

}  // namespace

void norm(Stream stream, const Rows& out, const Rows& x, const Rows& delta, const NormRows& norm,
          const PreparedX& prepared) {
  if (x.n_rows == 0) return;
  norm_rows<<<static_cast<unsigned>(x.n_rows), kRowThreads, 0, stream>>>(out, x, delta, norm, prepared);
  check_launch();
}

void norm_heads(Stream stream, const Rows& x, int n_heads, const NormRows& norm, bool has_own_weights) {
  if (x.n_rows == 0) return;
  const dim3 grid(static_cast<unsigned>(x.n_rows), static_cast<unsigned>(n_heads));
  norm_each_head<<<grid, kHeadThreads, 0, stream>>>(x, static_cast<int>(x.n_columns) / n_heads, norm, has_own_weights);
  check_launch();
}

}  // namespace lathe::kernels::cuda
