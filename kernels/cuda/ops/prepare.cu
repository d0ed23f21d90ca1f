// SPDX-License-Identifier: Apache-2.0
// Prepares x for products: columns in the matrix's input order, padded with zeros, and in bf16 unless the product is in f32.
#include "kernels/cuda/ops/activations.cuh"
#include "kernels/cuda/ops/launch.cuh"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ inline std::int64_t column_of(const std::int32_t* order, std::int64_t k) {
  return order != nullptr ? order[k] : k;
}

__global__ void prepare_rows(PreparedX to, Rows x, const std::int32_t* order) {
  const std::int64_t row = blockIdx.x, k = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (k >= to.padded_k) return;
  store(to, row, k, k < x.n_columns ? x.data[row * x.stride + column_of(order, k)] : 0.0F);
}

__global__ void prepare_activated_rows(PreparedX to, Rows gate, Rows up, Activation activation, const std::int32_t* order) {
  const std::int64_t row = blockIdx.x, k = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (k >= to.padded_k) return;
  float number = 0;
  if (k < up.n_columns) {
    const std::int64_t column = column_of(order, k);
    const float of_up = up.data[row * up.stride + column];
    number = gate.data == nullptr ? activated(of_up, activation)
                                  : activated(gate.data[row * gate.stride + column], activation) * gated(of_up, activation);
  }
  store(to, row, k, number);
}

dim3 grid_of(const PreparedX& to) {
  return {static_cast<unsigned>(to.n_rows), static_cast<unsigned>(div_up(to.padded_k, kThreads))};
}

}  // namespace

void prepare(Stream stream, const PreparedX& to, const Rows& x, const std::int32_t* order) {
  if (to.n_rows == 0) return;
  prepare_rows<<<grid_of(to), kThreads, 0, stream>>>(to, x, order);
  check_launch();
}

void prepare_activated(Stream stream, const PreparedX& to, const Rows& gate, const Rows& up, Activation activation,
                       const std::int32_t* order) {
  if (to.n_rows == 0) return;
  prepare_activated_rows<<<grid_of(to), kThreads, 0, stream>>>(to, gate, up, activation, order);
  check_launch();
}

}  // namespace lathe::kernels::cuda
