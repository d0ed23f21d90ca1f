// SPDX-License-Identifier: Apache-2.0
// Access of the fake kernels to rows, to x prepared for a product, and to 16-bit elements.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/ops/ops.h"
#include "tests/support/fake_cuda/fake_device.h"

namespace lathe::tests {

/// Requires that all elements of the rows are in one allocation.
inline const kernels::cuda::Rows& checked(const kernels::cuda::Rows& rows) {
  require(rows.n_rows <= 1 || rows.stride >= rows.n_columns, "rows overlap");
  if (rows.n_rows > 0) FakeDevice::elements(rows.data, (rows.n_rows - 1) * rows.stride + rows.n_columns);
  return rows;
}

inline std::int64_t place_in(const kernels::cuda::PreparedX& x, std::int64_t row, std::int64_t k) {
  using namespace kernels::cuda;
  if (!x.is_bf16) return row * x.padded_k + k;
  return x.in_blocks ? x_block_place(row, k, div_up(x.n_rows, kRowTile)) : x_place(row, k, x.padded_k / kStep);
}

/// Requires that all of the prepared input is in one allocation.
inline void check_prepared(const kernels::cuda::PreparedX& x) {
  using namespace kernels::cuda;
  require(!x.is_bf16 || x.padded_k % kQuad == 0, "k of a prepared input is not padded");
  require(x.is_bf16 || !x.in_blocks, "a prepared input in f32 has no blocks");
  FakeDevice::elements(static_cast<std::byte*>(x.data), prepared_bytes(x.n_rows, x.padded_k, x.is_bf16));
}

inline void store_prepared(const kernels::cuda::PreparedX& to, std::int64_t row, std::int64_t k, float number) {
  const std::int64_t place = place_in(to, row, k);
  if (to.is_bf16) {
    static_cast<std::uint16_t*>(to.data)[place] = kernels::f32_to_bf16(number);
  } else {
    static_cast<float*>(to.data)[place] = number;
  }
}

/// The rows of a prepared input, [n_rows][padded_k].
inline std::vector<float> prepared_numbers(const kernels::cuda::PreparedX& x) {
  check_prepared(x);
  std::vector<float> numbers(static_cast<std::size_t>(x.n_rows * x.padded_k));
  auto to = numbers.begin();
  for (std::int64_t row = 0; row < x.n_rows; ++row) {
    for (std::int64_t k = 0; k < x.padded_k; ++k, ++to) {
      const std::int64_t place = place_in(x, row, k);
      *to = x.is_bf16 ? kernels::bf16_to_f32(static_cast<const std::uint16_t*>(x.data)[place])
                      : static_cast<const float*>(x.data)[place];
    }
  }
  return numbers;
}

}  // namespace lathe::tests
