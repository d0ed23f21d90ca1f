// SPDX-License-Identifier: Apache-2.0
// Prepares x for products: columns in the matrix's input order, padded with zeros, and in bf16 unless the product is in f32.
#include "kernels/cuda/ops/activations.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/prepared.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 256;

/// Rows whose columns are read in an order, eight at a time.
struct OrderedRows {
  Rows rows;
  const std::int32_t* order;  ///< null: as they are
  bool is_aligned;            ///< eight columns are two vectors of 16 bytes

  /// Columns that are not there become zeros.
  __device__ void load(float (&eight)[kEight], std::int64_t row, std::int64_t k) const {
    const float* const from = rows.data + row * rows.stride;
    if (is_aligned && k + kEight <= rows.n_columns) {
      const float4 low = *reinterpret_cast<const float4*>(from + k), high = *reinterpret_cast<const float4*>(from + k + 4);
      eight[0] = low.x, eight[1] = low.y, eight[2] = low.z, eight[3] = low.w;
      eight[4] = high.x, eight[5] = high.y, eight[6] = high.z, eight[7] = high.w;
      return;
    }
#pragma unroll
    for (int i = 0; i < kEight; ++i) {
      eight[i] = 0;
      if (k + i < rows.n_columns) eight[i] = from[order != nullptr ? order[k + i] : k + i];
    }
  }
};

OrderedRows ordered(const Rows& rows, const std::int32_t* order) {
  const bool is_aligned = order == nullptr && rows.stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0;
  return {.rows = rows, .order = order, .is_aligned = is_aligned};
}

/// Calls body(row, k) for the eight columns of this thread.
template <class Body>
__device__ void for_eight(const PreparedX& to, const Body& body) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x, n_of_row = to.padded_k / kEight;
  if (item < to.n_rows * n_of_row) body(item / n_of_row, item % n_of_row * kEight);
}

__global__ void __launch_bounds__(kThreads) prepare_rows(PreparedX to, OrderedRows x) {
  let_next_begin();
  wait_for_previous();
  for_eight(to, [&](std::int64_t row, std::int64_t k) {
    float numbers[kEight];
    x.load(numbers, row, k);
    store_eight(to, row, k, numbers);
  });
}

__global__ void __launch_bounds__(kThreads)
    prepare_activated_rows(PreparedX to, OrderedRows gate, OrderedRows up, Activation activation) {
  let_next_begin();
  wait_for_previous();
  for_eight(to, [&](std::int64_t row, std::int64_t k) {
    float numbers[kEight], of_up[kEight];
    up.load(of_up, row, k);
    if (gate.rows.data != nullptr) {
      gate.load(numbers, row, k);
#pragma unroll
      for (int i = 0; i < kEight; ++i) numbers[i] = activated(numbers[i], activation) * gated(of_up[i], activation);
    } else {
#pragma unroll
      for (int i = 0; i < kEight; ++i) numbers[i] = activated(of_up[i], activation);
    }
#pragma unroll
    for (int i = 0; i < kEight; ++i) {
      if (k + i >= up.rows.n_columns) numbers[i] = 0;
    }
    store_eight(to, row, k, numbers);
  });
}

template <class... Params, class... Args>
void launch(Stream stream, void (*kernel)(Params...), const PreparedX& to, const Args&... args) {
  if (to.n_rows == 0) return;
  const std::int64_t n_items = to.n_rows * (to.padded_k / kEight);
  launch_dependent(kernel, dim3(static_cast<unsigned>(div_up(n_items, kThreads))), dim3(kThreads), 0, stream, to, args...);
}

}  // namespace

void prepare(Stream stream, const PreparedX& to, const Rows& x, const std::int32_t* order) {
  launch(stream, prepare_rows, to, ordered(x, order));
}

void prepare_activated(Stream stream, const PreparedX& to, const Rows& gate, const Rows& up, Activation activation,
                       const std::int32_t* order) {
  launch(stream, prepare_activated_rows, to, ordered(gate, order), ordered(up, order), activation);
}

}  // namespace lathe::kernels::cuda
