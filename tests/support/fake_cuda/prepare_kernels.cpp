// SPDX-License-Identifier: Apache-2.0
// The fake kernels that prepare x for a product.
#include "tests/support/fake_cuda/activations.h"
#include "tests/support/fake_cuda/prepared_rows.h"

namespace lathe::kernels::cuda {
namespace {

using namespace lathe::tests;

/// Stores number(row, column) in the order, padded with zeros.
template <class Number>
void prepare_numbers(const PreparedX& to, std::int64_t n_columns, const std::int32_t* order, const Number& number) {
  check_prepared(to);
  require(to.padded_k >= n_columns, "a prepared input is too short");
  if (order != nullptr) FakeDevice::elements(order, n_columns);
  for (std::int64_t row = 0; row < to.n_rows; ++row) {
    for (std::int64_t k = 0; k < to.padded_k; ++k) {
      const std::int64_t column = order != nullptr && k < n_columns ? order[k] : k;
      store_prepared(to, row, k, k < n_columns ? number(row, column) : 0);
    }
  }
}

}  // namespace

void prepare(Stream stream, const PreparedX& to, const Rows& x, const std::int32_t* order) {
  if (to.n_rows == 0) return;
  launch_kernel(stream, "prepare", [=] {
    require(checked(x).n_rows == to.n_rows, "a prepared input has another number of rows");
    prepare_numbers(to, x.n_columns, order,
                    [&](std::int64_t row, std::int64_t column) { return x.data[row * x.stride + column]; });
  });
}

void prepare_activated(Stream stream, const PreparedX& to, const Rows& gate, const Rows& up, Activation activation,
                       const std::int32_t* order) {
  if (to.n_rows == 0) return;
  launch_kernel(stream, "prepare_activated", [=] {
    require(checked(up).n_rows == to.n_rows, "a prepared input has another number of rows");
    if (gate.data != nullptr)
      require(checked(gate).n_rows == up.n_rows && gate.n_columns == up.n_columns, "gate and up differ");
    prepare_numbers(to, up.n_columns, order, [&](std::int64_t row, std::int64_t column) {
      const float of_up = up.data[row * up.stride + column];
      if (gate.data == nullptr) return activated(of_up, activation);
      return activated(gate.data[row * gate.stride + column], activation) * gated(of_up, activation);
    });
  });
}

// ---- ceilings: work that takes no time
double read_all(Stream stream, const void* data, std::size_t n_bytes, float* sink, int) {
  launch_kernel(stream, "read_all", [=] {
    FakeDevice::elements(static_cast<const std::byte*>(data), static_cast<std::int64_t>(n_bytes));
    FakeDevice::elements(sink, 1);
  });
  return static_cast<double>(n_bytes);
}
double multiply_f32(Stream stream, float* sink, int) {
  launch_kernel(stream, "multiply_f32", [=] { FakeDevice::elements(sink, 1); });
  return 1e6;
}
double multiply_bf16(Stream stream, float* sink, int) {
  launch_kernel(stream, "multiply_bf16", [=] { FakeDevice::elements(sink, 1); });
  return 2e6;
}
double multiply_int8(Stream stream, float* sink, int) {
  launch_kernel(stream, "multiply_int8", [=] { FakeDevice::elements(sink, 1); });
  return 4e6;
}

}  // namespace lathe::kernels::cuda
