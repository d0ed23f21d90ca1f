// SPDX-License-Identifier: Apache-2.0
// The largest element of each row, as greedy sampling needs it.
#include "kernels/cuda/ops/dependent_launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kLoads = 4;  // vectors that a thread has on their way at a time

/// The largest of some elements of a row, and its lowest index.
struct Best {
  float number = -INFINITY;
  std::int32_t at = 0;
  bool is_usable = true;  ///< no element is NaN or +infinity

  __device__ void take(float x, std::int32_t i) {
    is_usable = is_usable && x < INFINITY;  // false for NaN
    if (x > number) {
      number = x;
      at = i;
    }
  }
  __device__ void merge(const Best& other) {
    is_usable = is_usable && other.is_usable;
    if (other.number > number || (other.number == number && other.at < at)) {
      number = other.number;
      at = other.at;
    }
  }
};

__device__ Best best_of_warp(Best best) {
  for (int other = kWarp / 2; other > 0; other /= 2) {
    best.merge({__shfl_xor_sync(0xffffffffU, best.number, other), __shfl_xor_sync(0xffffffffU, best.at, other),
                __shfl_xor_sync(0xffffffffU, static_cast<int>(best.is_usable), other) != 0});
  }
  return best;
}

/// The best of elements that the thread takes in ascending order: vectors where the row allows it, then what is left.
__device__ Best best_of_thread(const float* row, int n, bool is_aligned) {
  Best best;
  const int n_vectors = is_aligned ? n / 4 : 0;
  const auto* const vectors = reinterpret_cast<const float4*>(row);
  for (int first = threadIdx.x; first < n_vectors; first += kLoads * kThreads) {
    float4 loaded[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = first + i * kThreads;
      loaded[i] = at < n_vectors ? vectors[at] : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = 4 * (first + i * kThreads);
      best.take(loaded[i].x, at);
      best.take(loaded[i].y, at + 1);
      best.take(loaded[i].z, at + 2);
      best.take(loaded[i].w, at + 3);
    }
  }
  for (int i = 4 * n_vectors + threadIdx.x; i < n; i += kThreads) best.take(row[i], i);
  return best;
}

/// One block searches one row.
__global__ void __launch_bounds__(kThreads) find_best(Rows x, bool is_aligned, std::int32_t* ids) {
  __shared__ Best of_warps[kThreads / kWarp];
  let_next_begin();
  wait_for_previous();
  Best best = best_of_warp(
      best_of_thread(x.data + static_cast<std::int64_t>(blockIdx.x) * x.stride, static_cast<int>(x.n_columns), is_aligned));
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = best;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  static_assert(kThreads / kWarp == kWarp);
  best = best_of_warp(of_warps[threadIdx.x]);
  if (threadIdx.x == 0) ids[blockIdx.x] = best.is_usable && best.number > -INFINITY ? best.at : -1;
}

}  // namespace

void arg_max(Stream stream, std::int32_t* ids, const Rows& x) {
  if (x.n_rows == 0) return;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(x.data) % sizeof(float4) == 0 && x.stride % 4 == 0;
  launch_dependent(find_best, static_cast<unsigned>(x.n_rows), kThreads, 0, stream, x, is_aligned, ids);
}

}  // namespace lathe::kernels::cuda
