// SPDX-License-Identifier: Apache-2.0
// Norms of rows and of heads. Equations: NormKind in kernels/api/backend.h.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/heads.cuh"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kRowThreads = 512;
constexpr int kVector = 4;                          // elements that a thread reads at a time
constexpr int kRowVectors = kRowThreads * kVector;  // elements that a block reads at a time
constexpr int kMostInRegisters = 8 * kRowVectors;   // elements of the longest row that a block keeps in registers
constexpr int kRowWarps = kRowThreads / kWarp;

/// The sum over all threads of a block, returned to each of them; the order of the additions is fixed. `warps`: space that
/// no other sum of the block uses.
__device__ float sum_of_block(float number, float (&warps)[kRowWarps]) {
  number = sum_of_warp(number);
  if (lane_of_warp() == 0) warps[threadIdx.x / kWarp] = number;
  __syncthreads();
  number = 0;
#pragma unroll
  for (int i = 0; i < kRowWarps; ++i) number += warps[i];
  return number;
}

/// Elements [at, at + 4) of a row of n; those beyond it are 0. `is_aligned`: vectors of the row are on 16 bytes.
__device__ inline float4 load_vector(const float* row, int at, int n, bool is_aligned) {
  if (is_aligned && at + kVector <= n) return *reinterpret_cast<const float4*>(row + at);
  return {at < n ? row[at] : 0.0F, at + 1 < n ? row[at + 1] : 0.0F, at + 2 < n ? row[at + 2] : 0.0F,
          at + 3 < n ? row[at + 3] : 0.0F};
}

__device__ inline void store_vector(float* row, int at, int n, bool is_aligned, float4 numbers) {
  if (is_aligned && at + kVector <= n) {
    *reinterpret_cast<float4*>(row + at) = numbers;
    return;
  }
  if (at < n) row[at] = numbers.x;
  if (at + 1 < n) row[at + 1] = numbers.y;
  if (at + 2 < n) row[at + 2] = numbers.z;
  if (at + 3 < n) row[at + 3] = numbers.w;
}

__device__ inline float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ inline float sum_of(float4 v) { return ((v.x + v.y) + v.z) + v.w; }

/// x - mean; elements from n on stay 0.
__device__ inline float4 centred(float4 v, float mean, int at, int n) {
  return {at < n ? v.x - mean : 0.0F, at + 1 < n ? v.y - mean : 0.0F, at + 2 < n ? v.z - mean : 0.0F,
          at + 3 < n ? v.w - mean : 0.0F};
}
__device__ inline float add_squares(float sum, float4 v) {
  return fmaf(v.w, v.w, fmaf(v.z, v.z, fmaf(v.y, v.y, fmaf(v.x, v.x, sum))));
}
__device__ inline float4 weighed(float4 v, float scale, float4 weight, float4 bias) {
  return {fmaf(v.x * scale, weight.x, bias.x), fmaf(v.y * scale, weight.y, bias.y), fmaf(v.z * scale, weight.z, bias.z),
          fmaf(v.w * scale, weight.w, bias.w)};
}

/// The rows of a norm, and where they come from.
struct NormWork {
  Rows out, x, delta;
  NormRows norm;
  PreparedX prepared;
  bool is_aligned;  ///< vectors of all rows and weights are on 16 bytes
};

/// One block normalises one row, which it reads once and keeps in registers: at most kVectors vectors a thread. Weights are
/// read before the wait. The order of the sums depends on the row's length alone.
template <int kVectors>
__global__ void __launch_bounds__(kRowThreads) norm_rows(NormWork work) {
  __shared__ float sums_of_warps[kRowWarps], squares_of_warps[kRowWarps];
  let_next_begin();
  const std::int64_t row = blockIdx.x;
  const int n = static_cast<int>(work.x.n_columns);
  const bool has_bias = work.norm.bias != nullptr;
  float4 weights[kVectors], numbers[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i)
    weights[i] =
        load_vector(work.norm.weight, i * kRowVectors + kVector * static_cast<int>(threadIdx.x), n, work.is_aligned);

  wait_for_previous();
  float* const x = work.x.data + row * work.x.stride;
  float mean = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = i * kRowVectors + kVector * static_cast<int>(threadIdx.x);
    numbers[i] = load_vector(x, at, n, work.is_aligned);
    if (work.delta.data != nullptr)
      numbers[i] = numbers[i] + load_vector(work.delta.data + row * work.delta.stride, at, n, work.is_aligned);
  }
  if (work.delta.data != nullptr) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      store_vector(x, i * kRowVectors + kVector * static_cast<int>(threadIdx.x), n, work.is_aligned, numbers[i]);
  }
  if (work.norm.kind == NormKind::layer) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) mean += sum_of(numbers[i]);
    mean = sum_of_block(mean, sums_of_warps) / static_cast<float>(n);
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      numbers[i] = centred(numbers[i], mean, i * kRowVectors + kVector * static_cast<int>(threadIdx.x), n);
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) squares = add_squares(squares, numbers[i]);
  const float scale = 1.0F / sqrtf(sum_of_block(squares, squares_of_warps) / static_cast<float>(n) + work.norm.eps);
  float* const out = work.out.data + row * work.out.stride;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = i * kRowVectors + kVector * static_cast<int>(threadIdx.x);
    if (at >= n) continue;
    const float4 bias = has_bias ? load_vector(work.norm.bias, at, n, work.is_aligned) : float4{};
    const float4 result = weighed(numbers[i], scale, weights[i], bias);
    store_vector(out, at, n, work.is_aligned, result);
    if (work.prepared.data != nullptr) store_four(work.prepared, row, at, result);
  }
  if (work.prepared.data == nullptr) return;
  for (std::int64_t i = round_up(n, kVector) + threadIdx.x; i < work.prepared.padded_k; i += kRowThreads)
    store(work.prepared, row, i, 0);
}

/// As norm_rows(), for rows that do not fit into registers: they are read three times.
__global__ void __launch_bounds__(kRowThreads) norm_long_rows(NormWork work) {
  __shared__ float sums_of_warps[kRowWarps], squares_of_warps[kRowWarps];
  let_next_begin();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  const int n = static_cast<int>(work.x.n_columns);
  float* const x = work.x.data + row * work.x.stride;
  float* const out = work.out.data + row * work.out.stride;
  const float* const delta = work.delta.data != nullptr ? work.delta.data + row * work.delta.stride : nullptr;
  float mean = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += kRowThreads) {
    if (delta != nullptr) x[i] += delta[i];
    mean += work.norm.kind == NormKind::layer ? x[i] : 0.0F;
  }
  if (work.norm.kind == NormKind::layer) mean = sum_of_block(mean, sums_of_warps) / static_cast<float>(n);
  for (int i = threadIdx.x; i < n; i += kRowThreads) squares = fmaf(x[i] - mean, x[i] - mean, squares);
  const float scale = 1.0F / sqrtf(sum_of_block(squares, squares_of_warps) / static_cast<float>(n) + work.norm.eps);
  for (int i = threadIdx.x; i < n; i += kRowThreads) {
    const float bias = work.norm.bias != nullptr ? work.norm.bias[i] : 0.0F;
    out[i] = fmaf((x[i] - mean) * scale, work.norm.weight[i], bias);
    if (work.prepared.data != nullptr) store(work.prepared, row, i, out[i]);
  }
  if (work.prepared.data == nullptr) return;
  for (std::int64_t i = n + threadIdx.x; i < work.prepared.padded_k; i += kRowThreads) store(work.prepared, row, i, 0);
}

__global__ void __launch_bounds__(kWarp) norm_each_head(Rows x, int head_dim, NormRows norm, bool has_own_weights) {
  let_next_begin();
  wait_for_previous();
  const int first = static_cast<int>(blockIdx.y) * head_dim;
  norm_head(x.data + static_cast<std::int64_t>(blockIdx.x) * x.stride + first, head_dim, norm, has_own_weights ? first : 0);
}

bool is_on_vectors(const float* data) { return reinterpret_cast<std::uintptr_t>(data) % sizeof(float4) == 0; }
bool is_on_vectors(const Rows& rows) {
  return rows.data == nullptr || (is_on_vectors(rows.data) && rows.stride % kVector == 0);
}

}  // namespace

void norm(Stream stream, const Rows& out, const Rows& x, const Rows& delta, const NormRows& norm,
          const PreparedX& prepared) {
  if (x.n_rows == 0) return;
  NormWork work{.out = out, .x = x, .delta = delta, .norm = norm, .prepared = prepared, .is_aligned = false};
  work.is_aligned = is_on_vectors(out) && is_on_vectors(x) && is_on_vectors(delta) && is_on_vectors(norm.weight) &&
                    is_on_vectors(norm.bias);
  const auto kernel = x.n_columns <= kRowVectors        ? norm_rows<1>
                      : x.n_columns <= 2 * kRowVectors  ? norm_rows<2>
                      : x.n_columns <= 4 * kRowVectors  ? norm_rows<4>
                      : x.n_columns <= kMostInRegisters ? norm_rows<8>
                                                        : norm_long_rows;
  launch_dependent(kernel, static_cast<unsigned>(x.n_rows), kRowThreads, 0, stream, work);
}

void norm_heads(Stream stream, const Rows& x, int n_heads, const NormRows& norm, bool has_own_weights) {
  if (x.n_rows == 0) return;
  const dim3 grid(static_cast<unsigned>(x.n_rows), static_cast<unsigned>(n_heads));
  launch_dependent(norm_each_head, grid, kWarp, 0, stream, x, static_cast<int>(x.n_columns) / n_heads, norm,
                   has_own_weights);
}

}  // namespace lathe::kernels::cuda
