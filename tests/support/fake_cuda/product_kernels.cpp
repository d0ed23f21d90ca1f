// SPDX-License-Identifier: Apache-2.0
// The fake kernels of products. Sums of a unit of k are scaled and added in order, as kernels/cuda/ops/ops.h says; within a
// unit they are added in an order of their own.
#include <algorithm>
#include <cmath>

#include "tests/support/fake_cuda/activations.h"
#include "tests/support/fake_cuda/prepared_rows.h"
#include "tests/support/fake_cuda/products.h"
#include "tests/support/fake_cuda/stored_weights.h"

namespace lathe::kernels::cuda {
namespace {

using namespace lathe::tests;

constexpr std::int64_t kLanes = 16;  // k of a unit is a multiple

float dot(const float* x, const float* w, std::int64_t n) {
  float sums[kLanes] = {};
  for (std::int64_t i = 0; i < n; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j) sums[j] += x[i + j] * w[i + j];
  float sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

float sum_of(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

/// Sums of x over units, [row][unit]: those of sum_units(), or computed here.
std::vector<float> unit_sums_of(const PreparedX& x, const std::vector<float>& numbers, const MatrixLayout& layout,
                                const float* handed) {
  const std::int64_t unit = layout.unit(), n_units = layout.n_units(), n_row_tiles = div_up(x.n_rows, kRowTile);
  std::vector<float> sums;
  if (handed != nullptr) FakeDevice::elements(handed, unit_sums_bytes(x.n_rows, layout) / std::int64_t{sizeof(float)});
  for (std::int64_t row = 0; row < x.n_rows; ++row) {
    for (std::int64_t u = 0; u < n_units; ++u) {
      const std::int64_t k = u * unit, n = std::min(unit, x.padded_k - k);
      sums.push_back(handed != nullptr ? handed[unit_sum_place(row, u, units_of_quad(unit), n_row_tiles)]
                                       : sum_of(numbers.data() + row * x.padded_k + k, n));
    }
  }
  return sums;
}

/// One output of all rows: store(row, sum).
template <class Store>
void multiply_output(const PreparedX& x, const std::vector<float>& numbers, const std::vector<float>& unit_sums,
                     const StoredMatrix& matrix, std::int64_t output, const Store& store) {
  const MatrixLayout& layout = matrix.layout;
  const std::int64_t unit = is_in_rows(layout.storage) ? layout.padded_k() : layout.unit();
  const std::int64_t n_units = div_up(layout.padded_k(), unit);
  const std::vector<float> weights = values_of_row(matrix, output);
  const std::vector<UnitScale> scales = scales_of_row(matrix, output, n_units);
  for (std::int64_t row = 0; row < x.n_rows; ++row) {
    float total = 0;
    for (std::int64_t u = 0; u < n_units; ++u) {
      const std::int64_t k = u * unit, n = std::min(unit, layout.padded_k() - k);
      const float s = dot(numbers.data() + row * x.padded_k + k, weights.data() + k, n);
      const UnitScale& by = scales[static_cast<std::size_t>(u)];
      const float sum = unit_sums.empty() ? 0 : unit_sums[static_cast<std::size_t>(row * n_units + u)];
      if (layout.scales == ScaleKind::none) total += s;
      else if (layout.scales == ScaleKind::zero) total = std::fma(by.scale, std::fma(-by.other, sum, s), total);
      else if (layout.scales == ScaleKind::minimum) total = std::fma(by.other, sum, std::fma(by.scale, s, total));
      else total = std::fma(by.scale, s, total);
    }
    store(row, total);
  }
}

void multiply(const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias, const float* handed) {
  checked(out);
  require(out.n_rows == x.n_rows && out.n_columns == matrix.layout.n, "a product has other shapes than its output");
  const std::vector<float> product = product_now(x, matrix, bias, handed);
  for (std::int64_t row = 0; row < out.n_rows; ++row)
    std::copy_n(product.begin() + row * out.n_columns, out.n_columns, out.data + row * out.stride);
}

/// Memory of totals is 0 before and after each product.
void check_handed(const ManyScratch& scratch) {
  if (scratch.handed == nullptr) return;
  const auto* const bytes = static_cast<const std::byte*>(scratch.handed);
  FakeDevice::elements(bytes, static_cast<std::int64_t>(scratch.handed_bytes));
  require(scratch.handed_bytes >= kTurnBytes, "the memory of handed totals is too small");
  require(std::all_of(bytes, bytes + kTurnBytes, [](std::byte one) { return one == std::byte{0}; }),
          "the memory of handed totals is not 0");
}

}  // namespace
}  // namespace lathe::kernels::cuda

namespace lathe::tests {

using namespace lathe::kernels::cuda;

std::vector<float> product_now(const PreparedX& x, const StoredMatrix& matrix, const float* bias, const float* handed) {
  check_matrix(matrix);
  const std::int64_t n = matrix.layout.n;
  if (bias != nullptr) FakeDevice::elements(bias, n);
  const std::vector<float> numbers = prepared_numbers(x);
  std::vector<float> sums, out(static_cast<std::size_t>(x.n_rows * n));
  if (needs_unit_sums(matrix.layout)) sums = unit_sums_of(x, numbers, matrix.layout, handed);
  for (std::int64_t o = 0; o < n; ++o) {
    multiply_output(x, numbers, sums, matrix, o, [&](std::int64_t row, float total) {
      out[static_cast<std::size_t>(row * n + o)] = bias != nullptr ? total + bias[o] : total;
    });
  }
  return out;
}

void multiply_gated_now(const PreparedX& to, const PreparedX& x, const GatedMatrices& in) {
  check_prepared(to);
  check_matrix(in.gate);
  check_matrix(in.up);
  const std::int64_t n = in.up.layout.n;
  for (const float* bias : {in.gate_bias, in.up_bias})
    if (bias != nullptr) FakeDevice::elements(bias, n);
  const std::vector<float> numbers = prepared_numbers(x);
  std::vector<float> sums, gate(static_cast<std::size_t>(x.n_rows));
  if (needs_unit_sums(in.up.layout)) sums = unit_sums_of(x, numbers, in.up.layout, nullptr);
  for (std::int64_t o = 0; o < to.padded_k; ++o) {
    if (o >= n) {
      for (std::int64_t row = 0; row < x.n_rows; ++row) store_prepared(to, row, o, 0);
      continue;
    }
    multiply_output(x, numbers, sums, in.gate, o, [&](std::int64_t row, float total) {
      gate[static_cast<std::size_t>(row)] = in.gate_bias != nullptr ? total + in.gate_bias[o] : total;
    });
    multiply_output(x, numbers, sums, in.up, o, [&](std::int64_t row, float total) {
      const float up = in.up_bias != nullptr ? total + in.up_bias[o] : total;
      store_prepared(to, row, o, activated(gate[static_cast<std::size_t>(row)], in.activation) * gated(up, in.activation));
    });
  }
}

}  // namespace lathe::tests

namespace lathe::kernels::cuda {

bool has_wgmma() { return FakeDevice::instance().form().major == 9 && FakeDevice::instance().form().minor == 0; }

bool takes_blocks(std::int64_t n_rows, const MatrixLayout& layout) {
  return !is_in_rows(layout.storage) && n_rows > kMostFewRows && has_wgmma();
}

std::size_t handed_bytes() {
  return kTurnBytes +
         static_cast<std::size_t>(FakeDevice::instance().form().n_processors) * kHandedOutputs * kHandedRows * sizeof(float);
}

bool are_gated_together(const StoredMatrix& gate, const StoredMatrix& up) {
  const MatrixLayout &a = gate.layout, &b = up.layout;
  return !is_in_rows(a.storage) && a.n == b.n && a.k == b.k && a.storage == b.storage && a.scales == b.scales &&
         a.group == b.group && gate.off == up.off && gate.has_book == up.has_book &&
         std::equal(std::begin(gate.book), std::end(gate.book), std::begin(up.book));
}

void multiply_few(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.n_rows <= kMaxFewRows && x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  LATHE_CHECK(!x.in_blocks && !is_in_rows(matrix.layout.storage));
  launch_kernel(stream, "multiply_few", [=] { multiply(out, x, matrix, bias, nullptr); });
}

void multiply_gated(Stream stream, const PreparedX& to, const PreparedX& x, const GatedMatrices& in) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(are_gated_together(in.gate, in.up) && x.n_rows <= kMaxGatedRows && x.is_bf16 && !x.in_blocks && to.is_bf16);
  LATHE_CHECK(x.padded_k == in.up.layout.padded_k() && to.n_rows == x.n_rows && to.padded_k >= in.up.layout.n);
  launch_kernel(stream, "multiply_gated", [=] { multiply_gated_now(to, x, in); });
}

void sum_units(Stream stream, float* to, const PreparedX& x, std::int64_t unit) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.is_bf16 && x.in_blocks && unit % kStep == 0 && (kQuad % unit == 0 || unit % kQuad == 0));
  launch_kernel(stream, "sum_units", [=] {
    const std::vector<float> numbers = prepared_numbers(x);
    const std::int64_t n_units = div_up(x.padded_k, unit), n_row_tiles = div_up(x.n_rows, kRowTile);
    FakeDevice::elements(to, n_row_tiles * kRowTile * n_units);
    for (std::int64_t row = 0; row < x.n_rows; ++row) {
      for (std::int64_t u = 0; u < n_units; ++u) {
        to[unit_sum_place(row, u, units_of_quad(unit), n_row_tiles)] =
            sum_of(numbers.data() + row * x.padded_k + u * unit, std::min(unit, x.padded_k - u * unit));
      }
    }
  });
}

void multiply_many(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias,
                   const ManyScratch& scratch) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.is_bf16 && x.in_blocks && has_wgmma() && x.padded_k == matrix.layout.padded_k());
  const float* const sums = needs_unit_sums(matrix.layout) ? scratch.unit_sums : nullptr;
  if (needs_unit_sums(matrix.layout)) {
    LATHE_CHECK(scratch.unit_sums != nullptr);
    sum_units(stream, scratch.unit_sums, x, matrix.layout.unit());
  }
  launch_kernel(stream, "multiply_many", [=] {
    check_handed(scratch);
    multiply(out, x, matrix, bias, sums);
  });
}

void multiply_many_mma(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(matrix.layout.storage == Storage::bf16 && x.is_bf16 && !x.in_blocks && x.padded_k == matrix.layout.padded_k());
  launch_kernel(stream, "multiply_many_mma", [=] { multiply(out, x, matrix, bias, nullptr); });
}

void multiply_plain(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(is_in_rows(matrix.layout.storage) && !x.is_bf16 && x.padded_k == matrix.layout.padded_k());
  launch_kernel(stream, "multiply_plain", [=] { multiply(out, x, matrix, bias, nullptr); });
}

}  // namespace lathe::kernels::cuda
