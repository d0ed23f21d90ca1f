// SPDX-License-Identifier: Apache-2.0
// Weights of the fake device: reads them, and packs them as pack_floats() and pack_codes() do.
#include "tests/support/fake_cuda/stored_weights.h"

#include <array>

#include "tests/support/fake_cuda/fake_device.h"

namespace lathe::tests {

using namespace kernels::cuda;
using kernels::bf16_to_f32;
using kernels::f16_to_f32;
using kernels::f32_to_f16;

namespace {

/// Places of the weights of a row: each kQuad of k is arranged as the first one.
class RowPlaces {
 public:
  RowPlaces(const MatrixLayout& layout, std::int64_t row) {
    const auto place = [&](std::int64_t k) {
      return is_in_rows(layout.storage) ? row * layout.padded_k() + k : layout.place(row, k);
    };
    const std::int64_t k = layout.padded_k();
    for (std::int64_t i = 0; i < kQuad; ++i) first_[static_cast<std::size_t>(i)] = place(i);
    stride_ = k > kQuad ? place(kQuad) - place(0) : 0;
    require(at(k - 1) == place(k - 1), "a matrix has another layout");
  }
  std::int64_t at(std::int64_t k) const { return first_[static_cast<std::size_t>(k % kQuad)] + k / kQuad * stride_; }

 private:
  std::array<std::int64_t, kQuad> first_{};
  std::int64_t stride_ = 0;
};

/// Values of all codes.
std::array<float, 256> values_of_codes(const StoredMatrix& matrix) {
  std::array<float, 256> values{};
  for (std::size_t code = 0; code < (matrix.layout.storage == Storage::code4 ? 16U : 256U); ++code) {
    if (matrix.layout.storage == Storage::e4m3) values[code] = kernels::e4m3_to_f32(static_cast<std::uint8_t>(code));
    else if (matrix.has_book) values[code] = bf16_to_f32(kernels::f32_to_bf16(matrix.book[code]));
    else values[code] = static_cast<float>(code) - matrix.off;
  }
  return values;
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

void store_float(const StoredMatrix& to, std::int64_t place, float number) {
  void* const weights = const_cast<void*>(to.weights);
  if (to.layout.storage == Storage::rows_f32) {
    static_cast<float*>(weights)[place] = number;
  } else {
    static_cast<std::uint16_t*>(weights)[place] =
        to.layout.storage == Storage::rows_f16 ? f32_to_f16(number) : kernels::f32_to_bf16(number);
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
  const Storage storage = matrix.layout.storage;
  const RowPlaces places(matrix.layout, row);
  std::vector<float> values(static_cast<std::size_t>(matrix.layout.padded_k()));
  const auto fill = [&](const auto& value_at) {
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = value_at(places.at(static_cast<std::int64_t>(k)));
  };
  const auto* const bytes = static_cast<const std::uint8_t*>(matrix.weights);
  const auto* const halves = static_cast<const std::uint16_t*>(matrix.weights);
  if (storage == Storage::rows_f32) {
    fill([&](std::int64_t place) { return static_cast<const float*>(matrix.weights)[place]; });
  } else if (storage == Storage::rows_f16) {
    fill([&](std::int64_t place) { return f16_to_f32(halves[place]); });
  } else if (storage == Storage::bf16) {
    fill([&](std::int64_t place) { return bf16_to_f32(halves[place]); });
  } else {
    const std::array<float, 256> of_codes = values_of_codes(matrix);
    if (storage == Storage::code4) {
      fill([&](std::int64_t place) { return of_codes[bytes[place / 2] >> (place % 2 * 4) & 15U]; });
    } else {
      fill([&](std::int64_t place) { return of_codes[bytes[place]]; });
    }
  }
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
    FakeDevice::elements(static_cast<const std::byte*>(source), n_rows * k * static_cast<std::int64_t>(size_of(dtype)));
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const RowPlaces places(to.layout, row_begin + row);
      for (std::int64_t at = 0; at < k; ++at) store_float(to, places.at(at), source_number(source, dtype, row * k + at));
    }
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
      const RowPlaces places(to.layout, row_begin + row);
      for (std::int64_t at = 0; at < k; ++at) store_code(to, places.at(at), codes[row * k + at]);
      for (std::int64_t g = 0; g < n_groups; ++g)
        store_scale(to, to.layout.scale_place(row_begin + row, g), scales + (row * n_groups + g) * 2);
    }
  });
}

}  // namespace lathe::kernels::cuda
