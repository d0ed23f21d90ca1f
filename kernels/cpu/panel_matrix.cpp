// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/panel_matrix.h"

#include <algorithm>

#include "kernels/cpu/table/grouped_layout.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"

namespace lathe::kernels {
namespace {

std::int64_t panels_for_rows(std::int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }

GroupedPanel shape_of(const GroupedCodes& codes, std::int64_t k) { return {k, codes.bits, codes.group}; }

std::int64_t panel_bytes_for(WeightFormat format, std::int64_t k) {
  const GroupedCodes& codes = descriptor_of(format).codes;
  if (codes.group != 0) return shape_of(codes, k).bytes();
  return (k + 1) / 2 * kPairWeights * static_cast<std::int64_t>(size_of(descriptor_of(format).element));
}

/// Element (column, k) of a panel for k = 2 pair + odd.
template <bool kInterleaved>
std::int64_t element_at(std::int64_t column, std::int64_t k) {
  const std::int64_t pair = k / 2 * kPairWeights;
  return kInterleaved ? pair + 2 * column + k % 2 : pair + k % 2 * kPanelColumns + column;
}

/// Copies one row of k elements into its column; `convert` turns a source element into a stored one.
template <bool kInterleaved, class Source, class Stored, class Convert>
void pack_row(const Source* source, Stored* panel, std::int64_t column, std::int64_t k, const Convert& convert) {
  for (std::int64_t i = 0; i < k; ++i) panel[element_at<kInterleaved>(column, i)] = convert(source[i]);
}

template <bool kInterleaved, class Stored, class Narrow>
void pack_row_from(const TensorView& source, std::int64_t row, Stored* panel, std::int64_t column, const Narrow& narrow) {
  const std::int64_t k = source.dim(1);
  switch (source.dtype) {
    case Dtype::f32: return pack_row<kInterleaved>(source.row<const float>(row), panel, column, k, narrow);
    case Dtype::f16:
      return pack_row<kInterleaved>(source.row<const std::uint16_t>(row), panel, column, k,
                                    [&](std::uint16_t bits) { return narrow(f16_to_f32(bits)); });
    case Dtype::bf16:
      return pack_row<kInterleaved>(source.row<const std::uint16_t>(row), panel, column, k,
                                    [&](std::uint16_t bits) { return narrow(bf16_to_f32(bits)); });
    default: LATHE_CHECK(is_floating(source.dtype));
  }
}

void load_row(const TensorView& source, std::int64_t row, std::int64_t begin, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = load_element(source.data, source.dtype, row * source.strides[0] + begin + static_cast<std::int64_t>(i));
  }
}

void store_code(std::byte* codes, std::int64_t column, std::int64_t k, int bits, std::uint8_t code) {
  const std::int64_t quad = k / kQuad;
  const std::int64_t in_quad = column * kQuad + k % kQuad;
  constexpr std::int64_t kQuadCodes = kPanelColumns * kQuad;
  if (bits == 8) {
    codes[quad * kQuadCodes + in_quad] = std::byte{code};
  } else {
    std::byte& both = codes[quad / 2 * kQuadCodes + in_quad];
    both = quad % 2 == 0 ? (both & std::byte{0xf0}) | std::byte{code} : (both & std::byte{0x0f}) | std::byte(code << 4);
  }
}

/// Quantizes one row into its column, a group at a time.
void pack_grouped_row(const TensorView& source, std::int64_t row, const GroupedCodes& format, std::byte* panel,
                      std::int64_t column) {
  constexpr std::int64_t kLargestGroup = 128;
  const std::int64_t k = source.dim(1);
  auto* const scales = reinterpret_cast<std::uint16_t*>(panel + shape_of(format, k).codes_bytes());
  float weights[kLargestGroup];
  std::uint8_t codes[kLargestGroup];
  for (std::int64_t begin = 0; begin < k; begin += format.group) {
    const std::int64_t n = std::min<std::int64_t>(format.group, k - begin);
    const std::span<float> group(weights, static_cast<std::size_t>(n));
    load_row(source, row, begin, group);
    scales[begin / format.group * kPanelColumns + column] = quantize_group(format, group, codes);
    for (std::int64_t i = 0; i < n; ++i) store_code(panel, column, begin + i, format.bits, codes[i]);
  }
}

}  // namespace

std::size_t PanelMatrix::bytes_for(WeightFormat format, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>(panels_for_rows(n)) * static_cast<std::size_t>(panel_bytes_for(format, k));
}

PanelMatrix::PanelMatrix(WeightFormat format, std::int64_t n, std::int64_t k, Buffer buffer)
    : format_(format), n_(n), k_(k), panel_bytes_(panel_bytes_for(format, k)), buffer_(std::move(buffer)) {}

std::int64_t PanelMatrix::n_panels() const { return panels_for_rows(n_); }

void PanelMatrix::pack_rows(std::int64_t row_begin, const TensorView& source, ThreadPool& pool) {
  const std::int64_t row_end = row_begin + source.dim(0);
  LATHE_CHECK(row_begin >= 0 && row_end <= n_ && source.dim(1) == k_);
  const std::int64_t first = row_begin / kPanelColumns;
  // Whole panels a thread, so that no two threads write the same cache line.
  pool.run(panels_for_rows(row_end) - first, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t panel = first + begin; panel < first + end; ++panel) pack_panel(panel, row_begin, source);
  });
}

void PanelMatrix::pack_panel(std::int64_t panel, std::int64_t row_begin, const TensorView& source) {
  const bool keeps_bits = source.dtype == descriptor_of(format_).element;
  std::byte* const data = static_cast<std::byte*>(buffer_.data()) + panel * panel_bytes_;
  auto* const halves = reinterpret_cast<std::uint16_t*>(data);
  const auto same = [](std::uint16_t bits) { return bits; };
  for (std::int64_t column = 0; column < kPanelColumns; ++column) {
    const std::int64_t row = panel * kPanelColumns + column - row_begin;
    if (row < 0 || row >= source.dim(0)) continue;
    const GroupedCodes& codes = descriptor_of(format_).codes;
    if (codes.group != 0) {
      pack_grouped_row(source, row, codes, data, column);
      continue;
    }
    switch (format_) {
      case WeightFormat::f32:
        pack_row_from<false>(source, row, reinterpret_cast<float*>(data), column, [](float value) { return value; });
        break;
      case WeightFormat::f16:
        keeps_bits ? pack_row<false>(source.row<const std::uint16_t>(row), halves, column, k_, same)
                   : pack_row_from<false>(source, row, halves, column, f32_to_f16);
        break;
      case WeightFormat::bf16:
        keeps_bits ? pack_row<true>(source.row<const std::uint16_t>(row), halves, column, k_, same)
                   : pack_row_from<true>(source, row, halves, column, f32_to_bf16);
        break;
      default: LATHE_CHECK(false);
    }
  }
}

}  // namespace lathe::kernels
