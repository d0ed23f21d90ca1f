// SPDX-License-Identifier: Apache-2.0
// Weights of the fake device: reads them, and packs them as pack_floats() and pack_codes() do.
#include "tests/support/fake_cuda/stored_weights.h"

#include "tests/support/fake_cuda/fake_device.h"

namespace lathe::tests {

using namespace kernels::cuda;
using kernels::bf16_to_f32;
using kernels::f16_to_f32;
using kernels::f32_to_f16;

namespace {

/// The value of the weight at `place`.
float value_at(const StoredMatrix& matrix, std::int64_t place) {
  const auto* const bytes = static_cast<const std::uint8_t*>(matrix.weights);
  switch (matrix.layout.storage) {
    case Storage::rows_f32: return static_cast<const float*>(matrix.weights)[place];
    case Storage::rows_f16: return f16_to_f32(static_cast<const std::uint16_t*>(matrix.weights)[place]);
    case Storage::bf16: return bf16_to_f32(static_cast<const std::uint16_t*>(matrix.weights)[place]);
    case Storage::code8: return static_cast<float>(bytes[place]) - matrix.off;
    case Storage::e4m3: return kernels::e4m3_to_f32(bytes[place]);
    case Storage::code4: {
      const int code = bytes[place / 2] >> (place % 2 * 4) & 15;
      if (matrix.has_book) return bf16_to_f32(kernels::f32_to_bf16(matrix.book[code]));
      return static_cast<float>(code) - matrix.off;
    }
  }
  return 0;
}

void store_scale(const StoredMatrix& to, std::int64_t place, const float* scale) {
  auto* const halves = static_cast<std::uint16_t*>(const_cast<void*>(to.scales));
  auto* const floats = static_cast<float*>(const_cast<void*>(to.scales));
  switch (to.layout.scales) {
    case ScaleKind::half: halves[place] = f32_to_f16(scale[0]); break;
    case ScaleKind::single: floats[place] = scale[0]; break;
    case ScaleKind::zero:
      halves[2 * place] = f32_to_f16(scale[0]);
      halves[2 * place + 1] = f32_to_f16(scale[1]);
      break;
    case ScaleKind::minimum:
      floats[2 * place] = scale[0];
      floats[2 * place + 1] = scale[1];
      break;
    case ScaleKind::none: break;
  }
}

void store_code(const StoredMatrix& to, std::int64_t place, std::uint8_t code) {
  auto* const bytes = static_cast<std::uint8_t*>(const_cast<void*>(to.weights));
  if (to.layout.storage != Storage::code4) {
    bytes[place] = code;
    return;
  }
  require(code < 16, "a code has more than 4 bits");
  const int shift = static_cast<int>(place % 2) * 4;
  bytes[place / 2] = static_cast<std::uint8_t>((bytes[place / 2] & ~(15 << shift)) | code << shift);
}

void store_float(const StoredMatrix& to, std::int64_t row, std::int64_t k, float number) {
  void* const weights = const_cast<void*>(to.weights);
  const MatrixLayout& layout = to.layout;
  if (layout.storage == Storage::rows_f32) {
    static_cast<float*>(weights)[row * layout.padded_k() + k] = number;
  } else if (layout.storage == Storage::rows_f16) {
    static_cast<std::uint16_t*>(weights)[row * layout.padded_k() + k] = f32_to_f16(number);
  } else {
    static_cast<std::uint16_t*>(weights)[layout.place(row, k)] = kernels::f32_to_bf16(number);
  }
}

float source_number(const void* source, kernels::Dtype dtype, std::int64_t at) {
  if (dtype == kernels::Dtype::f32) return static_cast<const float*>(source)[at];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(source)[at];
  return dtype == kernels::Dtype::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

}  // namespace

void check_matrix(const StoredMatrix& matrix) {
  FakeDevice::elements(static_cast<const std::byte*>(matrix.weights), matrix.layout.n_bytes());
  const auto* const scales = static_cast<const std::byte*>(matrix.weights) + matrix.layout.weight_bytes();
  require(matrix.layout.scales == ScaleKind::none || matrix.scales == scales, "scales are not behind their weights");
}

std::vector<float> values_of_row(const StoredMatrix& matrix, std::int64_t row) {
  const MatrixLayout& layout = matrix.layout;
  const auto n = static_cast<std::size_t>(layout.padded_k());
  std::vector<float> values(n);
  if (is_in_rows(layout.storage)) {
    for (std::size_t k = 0; k < n; ++k) values[k] = value_at(matrix, row * layout.padded_k() + static_cast<std::int64_t>(k));
    return values;
  }
  for (std::size_t k = 0; k < n; ++k) values[k] = value_at(matrix, layout.place(row, static_cast<std::int64_t>(k)));
  return values;
}

std::vector<UnitScale> scales_of_row(const StoredMatrix& matrix, std::int64_t row, std::int64_t n_units) {
  const MatrixLayout& layout = matrix.layout;
  std::vector<UnitScale> scales(static_cast<std::size_t>(n_units));
  if (layout.scales == ScaleKind::none) return scales;
  const auto* const halves = static_cast<const std::uint16_t*>(matrix.scales);
  const auto* const floats = static_cast<const float*>(matrix.scales);
  for (std::int64_t u = 0; u < n_units; ++u) {
    const std::int64_t group = layout.group == 0 ? 0 : u * layout.unit() / layout.group;
    const std::int64_t place = layout.scale_place(row, group);
    UnitScale& to = scales[static_cast<std::size_t>(u)];
    if (layout.scales == ScaleKind::half) to.scale = f16_to_f32(halves[place]);
    if (layout.scales == ScaleKind::single) to.scale = floats[place];
    if (layout.scales == ScaleKind::zero) to = {f16_to_f32(halves[2 * place]), f16_to_f32(halves[2 * place + 1])};
    if (layout.scales == ScaleKind::minimum) to = {floats[2 * place], floats[2 * place + 1]};
  }
  return scales;
}

}  // namespace lathe::tests

namespace lathe::kernels::cuda {

using namespace lathe::tests;

void pack_floats(Stream stream, const StoredMatrix& to, std::int64_t row_begin, const void* source, Dtype dtype,
                 std::int64_t n_rows) {
  LATHE_CHECK(n_rows > 0 && to.layout.k > 0);
  launch_kernel(stream, "pack_floats", [=] {
    const std::int64_t k = to.layout.k;
    check_matrix(to);
    require(row_begin + n_rows <= to.layout.n && !is_coded(to), "rows are not those of a matrix of floats");
    FakeDevice::elements(static_cast<const std::byte*>(source),
                         n_rows * k * static_cast<std::int64_t>(size_of(dtype)));
    for (std::int64_t row = 0; row < n_rows; ++row)
      for (std::int64_t at = 0; at < k; ++at) store_float(to, row_begin + row, at, source_number(source, dtype, row * k + at));
  });
}

void pack_codes(Stream stream, const StoredMatrix& to, std::int64_t row_begin, const std::uint8_t* codes,
                const float* scales, std::int64_t n_rows, std::int64_t n_groups) {
  LATHE_CHECK(n_rows > 0 && to.layout.k > 0 && n_groups > 0);
  launch_kernel(stream, "pack_codes", [=] {
    const std::int64_t k = to.layout.k;
    check_matrix(to);
    require(row_begin + n_rows <= to.layout.n && is_coded(to), "rows are not those of a matrix of codes");
    require(n_groups <= to.layout.n_groups(), "rows have too many groups");
    FakeDevice::elements(codes, n_rows * k);
    FakeDevice::elements(scales, n_rows * n_groups * 2);
    for (std::int64_t row = 0; row < n_rows; ++row) {
      for (std::int64_t at = 0; at < k; ++at) store_code(to, to.layout.place(row_begin + row, at), codes[row * k + at]);
      for (std::int64_t g = 0; g < n_groups; ++g)
        store_scale(to, to.layout.scale_place(row_begin + row, g), scales + (row * n_groups + g) * 2);
    }
  });
}

}  // namespace lathe::kernels::cuda
