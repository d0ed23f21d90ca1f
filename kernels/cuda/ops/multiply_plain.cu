// SPDX-License-Identifier: Apache-2.0
// Products in f32 with weights in f32 or f16, for comparing results with other implementations. A warp has two outputs and
// eight rows; each thread sums every 32nd group of four k, and a tree adds the threads' sums, so that a row's bits do not
// depend on the rest of the batch.
#include <type_traits>

#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kOutputs = 2;  // outputs of a warp

__device__ inline float4 load_four(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ inline float4 load_four(const __half* from) {
  const uint2 four = *reinterpret_cast<const uint2*>(from);
  const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&four.x));
  const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&four.y));
  return make_float4(low.x, low.y, high.x, high.y);
}

template <class T>
__global__ void __launch_bounds__(kWarps* kWarp) multiply(float* out, std::int64_t stride, const float* x, const T* weights,
                                                          int padded_k, int n_rows, int n_outputs, const float* bias) {
  const int lane = threadIdx.x % kWarp;
  const int first = (blockIdx.x * kWarps + threadIdx.x / kWarp) * kOutputs, first_row = blockIdx.y * kRowTile;
  if (first >= n_outputs) return;
  float sums[kOutputs][kRowTile] = {};
  for (int k = lane * 4; k < padded_k; k += kWarp * 4) {
    float4 w[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const std::int64_t output = min(first + o, n_outputs - 1);
      w[o] = load_four(weights + output * padded_k + k);
    }
#pragma unroll
    for (int r = 0; r < kRowTile; ++r) {
      if (first_row + r >= n_rows) break;
      const float4 four = load_four(x + static_cast<std::int64_t>(first_row + r) * padded_k + k);
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
        sums[o][r] = fmaf(four.x, w[o].x, sums[o][r]);
        sums[o][r] = fmaf(four.y, w[o].y, sums[o][r]);
        sums[o][r] = fmaf(four.z, w[o].z, sums[o][r]);
        sums[o][r] = fmaf(four.w, w[o].w, sums[o][r]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRowTile; ++r) {
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      float sum = sums[o][r];
      for (int other = kWarp / 2; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, other);
      const int output = first + o;
      const std::int64_t row = first_row + r;
      if (lane != 0 || row >= n_rows || output >= n_outputs) continue;
      out[row * stride + output] = bias != nullptr ? sum + bias[output] : sum;
    }
  }
}

}  // namespace

void multiply_plain(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(is_in_rows(matrix.layout.storage) && !x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  const dim3 grid(static_cast<unsigned>(div_up(matrix.layout.n, kWarps * kOutputs)),
                  static_cast<unsigned>(div_up(x.n_rows, kRowTile)));
  const auto run = [&](const auto* weights) {
    using T = std::remove_cvref_t<decltype(*weights)>;
    multiply<T><<<grid, kWarps * kWarp, 0, stream>>>(out.data, out.stride, static_cast<const float*>(x.data), weights,
                                                     static_cast<int>(x.padded_k), static_cast<int>(x.n_rows),
                                                     static_cast<int>(matrix.layout.n), bias);
  };
  matrix.layout.storage == Storage::rows_f32 ? run(static_cast<const float*>(matrix.weights))
                                             : run(static_cast<const __half*>(matrix.weights));
  check_launch();
}

}  // namespace lathe::kernels::cuda
