// SPDX-License-Identifier: Apache-2.0
// The fake kernels of operations on rows.
#include <cmath>
#include <limits>

#include "tests/support/fake_cuda/head_functions.h"
#include "tests/support/fake_cuda/prepared_rows.h"

namespace lathe::kernels::cuda {
namespace {

using namespace lathe::tests;

/// Launches map(element, row, column) for each element of x.
template <class Map>
void for_numbers(Stream stream, const char* name, const Rows& x, const Map& map) {
  if (x.n_rows == 0 || x.n_columns == 0) return;
  launch_kernel(stream, name, [x, map] {
    checked(x);
    for (std::int64_t row = 0; row < x.n_rows; ++row)
      for (std::int64_t column = 0; column < x.n_columns; ++column) map(x.data[row * x.stride + column], row, column);
  });
}

/// An element of other rows, whose place is not known before.
float& number_at(const Rows& rows, std::int64_t row, std::int64_t column) {
  require(row >= 0 && row < rows.n_rows && column < rows.n_columns, "an index of a row is too large");
  return *FakeDevice::elements(rows.data + row * rows.stride + column, 1);
}

float embedded(const void* table, Dtype dtype, std::int64_t at) {
  if (dtype == Dtype::f32) return *FakeDevice::elements(static_cast<const float*>(table) + at, 1);
  const std::uint16_t bits = *FakeDevice::elements(static_cast<const std::uint16_t*>(table) + at, 1);
  return dtype == Dtype::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

std::int32_t best_of(const float* row, std::int64_t n) {
  float best = -std::numeric_limits<float>::infinity();
  std::int32_t at = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(row[i] < std::numeric_limits<float>::infinity())) return -1;
    if (row[i] > best) {
      best = row[i];
      at = static_cast<std::int32_t>(i);
    }
  }
  return at;
}

}  // namespace

void norm(Stream stream, const Rows& out, const Rows& x, const Rows& delta, const NormRows& norm,
          const PreparedX& prepared) {
  if (x.n_rows == 0) return;
  launch_kernel(stream, "norm", [=] {
    checked(x);
    checked(out);
    require(out.n_rows == x.n_rows && out.n_columns == x.n_columns, "norm: shapes differ");
    if (delta.data != nullptr) {
      checked(delta);
      require(delta.n_rows == x.n_rows && delta.n_columns == x.n_columns, "norm: shapes differ");
    }
    if (prepared.data != nullptr) {
      check_prepared(prepared);
      require(prepared.n_rows == x.n_rows && prepared.padded_k >= x.n_columns, "norm: shapes differ");
    }
    for (std::int64_t row = 0; row < x.n_rows; ++row) {
      float* const from = x.data + row * x.stride;
      float* const to = out.data + row * out.stride;
      for (std::int64_t i = 0; delta.data != nullptr && i < x.n_columns; ++i) from[i] += delta.data[row * delta.stride + i];
      normalise(to, from, x.n_columns, norm, 0);
      if (prepared.data == nullptr) continue;
      for (std::int64_t k = 0; k < prepared.padded_k; ++k) store_prepared(prepared, row, k, k < x.n_columns ? to[k] : 0);
    }
  });
}

void norm_heads(Stream stream, const Rows& x, int n_heads, const NormRows& norm, bool has_own_weights) {
  if (x.n_rows == 0) return;
  launch_kernel(stream, "norm_heads", [=] {
    checked(x);
    const std::int64_t n = x.n_columns / n_heads;
    for (std::int64_t row = 0; row < x.n_rows; ++row) {
      for (int head = 0; head < n_heads; ++head) {
        float* const numbers = x.data + row * x.stride + head * n;
        normalise(numbers, numbers, n, norm, has_own_weights ? head * n : 0);
      }
    }
  });
}

void add(Stream stream, const Rows& x, const Rows& delta) {
  for_numbers(stream, "add", x,
              [delta](float& to, std::int64_t row, std::int64_t column) { to += number_at(delta, row, column); });
}
void scale(Stream stream, const Rows& x, float factor) {
  for_numbers(stream, "scale", x, [factor](float& to, std::int64_t, std::int64_t) { to *= factor; });
}
void scale_by_sigmoid(Stream stream, const Rows& x, const Rows& gate) {
  const std::int64_t width = x.n_columns / gate.n_columns;
  for_numbers(stream, "scale_by_sigmoid", x, [gate, width](float& to, std::int64_t row, std::int64_t column) {
    to *= 1 / (1 + std::exp(-number_at(gate, row, column / width)));
  });
}
void clamp(Stream stream, const Rows& x, float limit) {
  for_numbers(stream, "clamp", x, [limit](float& to, std::int64_t, std::int64_t) { to = clamped(to, limit); });
}
void soft_cap(Stream stream, const Rows& x, float cap) {
  for_numbers(stream, "soft_cap", x, [cap](float& to, std::int64_t, std::int64_t) { to = cap * std::tanh(to / cap); });
}
void fill(Stream stream, const Rows& x, float value) {
  for_numbers(stream, "fill", x, [value](float& to, std::int64_t, std::int64_t) { to = value; });
}

void embed(Stream stream, const Rows& out, const void* table, Dtype dtype, std::int64_t stride, const std::int32_t* ids) {
  LATHE_CHECK(is_floating(dtype));
  for_numbers(stream, "embed", out, [=](float& to, std::int64_t row, std::int64_t column) {
    to = embedded(table, dtype, *FakeDevice::elements(ids + row, 1) * stride + column);
  });
}

void gather_rows(Stream stream, const Rows& out, const Rows& x, const std::int32_t* rows) {
  for_numbers(stream, "gather_rows", out, [=](float& to, std::int64_t row, std::int64_t column) {
    to = number_at(x, *FakeDevice::elements(rows + row, 1), column);
  });
}

void add_rows(Stream stream, const Rows& out, const Rows& x, const std::int32_t* rows, const float* factors) {
  for_numbers(stream, "add_rows", x, [=](const float& from, std::int64_t row, std::int64_t column) {
    float& to = number_at(out, *FakeDevice::elements(rows + row, 1), column);
    to = std::fma(*FakeDevice::elements(factors + row, 1), from, to);
  });
}

void arg_max(Stream stream, std::int32_t* ids, const Rows& x) {
  if (x.n_rows == 0) return;
  launch_kernel(stream, "arg_max", [=] {
    checked(x);
    FakeDevice::elements(ids, x.n_rows);
    for (std::int64_t row = 0; row < x.n_rows; ++row) ids[row] = best_of(x.data + row * x.stride, x.n_columns);
  });
}

}  // namespace lathe::kernels::cuda
