// SPDX-License-Identifier: Apache-2.0
// Packs rows of floats as [column][row], the order in which a tile broadcasts them.
#pragma once

#include <xmmintrin.h>

#include <cstdint>

namespace lathe::kernels {
namespace {

/// Packs four rows from `in`, row_stride apart, into four neighbouring columns of out [n_columns][out_stride].
inline void pack_four_rows(const float* in, std::int64_t row_stride, std::int64_t n_columns, float* out,
                           std::int64_t out_stride) {
  std::int64_t i = 0;
  for (; i + 4 <= n_columns; i += 4) {
    __m128 a = _mm_loadu_ps(in + i);
    __m128 b = _mm_loadu_ps(in + row_stride + i);
    __m128 c = _mm_loadu_ps(in + 2 * row_stride + i);
    __m128 d = _mm_loadu_ps(in + 3 * row_stride + i);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out + i * out_stride, a);
    _mm_storeu_ps(out + (i + 1) * out_stride, b);
    _mm_storeu_ps(out + (i + 2) * out_stride, c);
    _mm_storeu_ps(out + (i + 3) * out_stride, d);
  }
  for (; i < n_columns; ++i) {
    for (int r = 0; r < 4; ++r) out[i * out_stride + r] = in[r * row_stride + i];
  }
}

/// Packs two rows in the same way.
inline void pack_two_rows(const float* in, std::int64_t row_stride, std::int64_t n_columns, float* out,
                          std::int64_t out_stride) {
  std::int64_t i = 0;
  for (; i + 4 <= n_columns; i += 4) {
    const __m128 a = _mm_loadu_ps(in + i);
    const __m128 b = _mm_loadu_ps(in + row_stride + i);
    const __m128 low = _mm_unpacklo_ps(a, b);
    const __m128 high = _mm_unpackhi_ps(a, b);
    _mm_storel_pi(reinterpret_cast<__m64*>(out + i * out_stride), low);
    _mm_storeh_pi(reinterpret_cast<__m64*>(out + (i + 1) * out_stride), low);
    _mm_storel_pi(reinterpret_cast<__m64*>(out + (i + 2) * out_stride), high);
    _mm_storeh_pi(reinterpret_cast<__m64*>(out + (i + 3) * out_stride), high);
  }
  for (; i < n_columns; ++i) {
    for (int r = 0; r < 2; ++r) out[i * out_stride + r] = in[r * row_stride + i];
  }
}

/// in [n_rows][n_columns] -> out [n_columns][n_rows]
inline void pack_rows_as_columns(const float* in, std::int64_t row_stride, std::int64_t n_rows, std::int64_t n_columns,
                                 float* out) {
  std::int64_t row = 0;
  for (; row + 4 <= n_rows; row += 4) pack_four_rows(in + row * row_stride, row_stride, n_columns, out + row, n_rows);
  for (; row + 2 <= n_rows; row += 2) pack_two_rows(in + row * row_stride, row_stride, n_columns, out + row, n_rows);
  for (; row < n_rows; ++row) {
    for (std::int64_t i = 0; i < n_columns; ++i) out[i * n_rows + row] = in[row * row_stride + i];
  }
}

}  // namespace
}  // namespace lathe::kernels
