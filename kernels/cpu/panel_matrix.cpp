// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/panel_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/table/coded_layout.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"

namespace lathe::kernels {
namespace {

// Number of scales that are worth a thread of their own.
constexpr std::int64_t kScalesOfThread = 32;

std::int64_t panels_for_rows(std::int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }

CodedPanel shape_of(const CodedFormat& format, std::int64_t k) {
  const int whole_row = format.kind == CodeElement::e4m3 ? kPair : kActivationBlock;
  return {.k = k, .bits = format.bits, .group = format.group == 0 ? whole_row : format.group, .scales = format.scales};
}

/// Requires: a stored format.
std::int64_t panel_bytes_for(WeightFormat format, std::int64_t k) {
  const FormatDescriptor& descriptor = descriptor_of(format);
  if (descriptor.is_coded()) return shape_of(descriptor.codes, k).bytes();
  return (k + 1) / 2 * kPairWeights * static_cast<std::int64_t>(size_of(descriptor.element));
}

/// Index of the element (column, k) in a panel.
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

/// Packs a row of a source into its column, in a format without codes.
void pack_floats(WeightFormat format, const TensorView& source, std::int64_t row, std::byte* panel, std::int64_t column) {
  const bool keeps_bits = source.dtype == descriptor_of(format).element;
  const std::int64_t k = source.dim(1);
  auto* const halves = reinterpret_cast<std::uint16_t*>(panel);
  const auto same = [](std::uint16_t bits) { return bits; };
  switch (format) {
    case WeightFormat::f32:
      pack_row_from<false>(source, row, reinterpret_cast<float*>(panel), column, [](float value) { return value; });
      break;
    case WeightFormat::f16:
      keeps_bits ? pack_row<false>(source.row<const std::uint16_t>(row), halves, column, k, same)
                 : pack_row_from<false>(source, row, halves, column, f32_to_f16);
      break;
    case WeightFormat::bf16:
      keeps_bits ? pack_row<true>(source.row<const std::uint16_t>(row), halves, column, k, same)
                 : pack_row_from<true>(source, row, halves, column, f32_to_bf16);
      break;
    default: LATHE_CHECK(false);
  }
}

constexpr std::int64_t kQuadCodes = std::int64_t{kPanelColumns} * kQuad;

/// Stores 8-bit codes. Consecutive quads of a column are kQuadCodes bytes apart; each quad is copied as one 32-bit word.
void store_bytes(std::span<const std::uint8_t> codes, std::byte* column) {
  std::size_t i = 0;
  for (; i + kQuad <= codes.size(); i += kQuad, column += kQuadCodes) std::memcpy(column, codes.data() + i, kQuad);
  std::memcpy(column, codes.data() + i, codes.size() - i);
}

/// Stores 4-bit codes. Two quads share four bytes: the first quad is in the low nibbles.
void store_nibbles(std::span<const std::uint8_t> codes, std::byte* column) {
  for (std::size_t i = 0; i < codes.size(); i += 2 * kQuad, column += kQuadCodes) {
    std::uint32_t quads[2] = {};
    std::memcpy(quads, codes.data() + i, std::min(codes.size() - i, sizeof quads));
    const std::uint32_t both = quads[0] | quads[1] << 4;
    std::memcpy(column, &both, sizeof both);
  }
}

/// The format with the functions of an instruction set in place of its own, where there are some.
CodedFormat coded_format(WeightFormat format, const Encoders* encoders) {
  CodedFormat codes = descriptor_of(format).codes;
  if (encoders == nullptr) return codes;
  const Encoder& encoder = encoders->of[static_cast<std::size_t>(format)];
  if (encoder.scale_of != nullptr) codes.scale_of = encoder.scale_of;
  if (encoder.encode != nullptr) codes.encode = encoder.encode;
  return codes;
}

/// Buffers of one thread for the row that it packs.
struct RowOfCodes {
  RowOfCodes(const TensorCodes& tensor, std::int64_t k)
      : weights(static_cast<std::size_t>(k)),
        codes(static_cast<std::size_t>(k)),
        scales(static_cast<std::size_t>(tensor.scales_of_row())) {}
  std::vector<float> weights;
  std::vector<std::uint8_t> codes;
  std::vector<CodeScale> scales;
};

void store_e4m3(std::span<const std::uint8_t> codes, std::byte* panel, std::int64_t column) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    panel[element_at<false>(column, static_cast<std::int64_t>(i))] = std::byte{codes[i]};
  }
}

/// Writes the codes and scales of one row into its column of a panel.
class CodedColumn {
 public:
  CodedColumn(const CodedFormat& format, std::int64_t k, std::byte* panel, std::int64_t column)
      : format_(format), shape_(shape_of(format, k)), panel_(panel), column_(column) {}

  void store(const TensorCodes& tensor, std::int64_t row, RowOfCodes& room) {
    tensor.row(row, room.weights, room.codes, room.scales);
    store_codes(room.codes);
    if (format_.scales == ScaleLayout::nested) {
      store_nested(tensor.nested(), row);
    } else {
      store_scales(room.scales);
    }
  }

 private:
  void store_codes(std::span<const std::uint8_t> codes) {
    if (format_.kind == CodeElement::e4m3) return store_e4m3(codes, panel_, column_);
    std::byte* const first = panel_ + column_ * kQuad;
    format_.bits == 8 ? store_bytes(codes, first) : store_nibbles(codes, first);
  }

  std::byte* scales_at(std::int64_t offset) { return panel_ + shape_.codes_bytes() + offset; }

  void store_scales(std::span<const CodeScale> scales) {
    auto* const halves = reinterpret_cast<std::uint16_t*>(scales_at(0));
    auto* const floats = reinterpret_cast<float*>(scales_at(0));
    const auto middle = static_cast<float>(1 << (format_.bits - 1));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const auto [scale, zero] = scales[i];
      const std::int64_t at = static_cast<std::int64_t>(i) * kPanelColumns + column_;
      const std::int64_t paired_at = 2 * static_cast<std::int64_t>(i) * kPanelColumns + column_;
      switch (format_.scales) {
        case ScaleLayout::half: halves[at] = f32_to_f16(scale); break;
        case ScaleLayout::paired:
          halves[paired_at] = f32_to_f16(scale);
          halves[paired_at + kPanelColumns] = f32_to_f16(zero / middle - 1);
          break;
        case ScaleLayout::minned:
          floats[paired_at] = scale;
          floats[paired_at + kPanelColumns] = std::fma(scale, middle, zero) / -middle;
          break;
        default: floats[at] = scale * format_.step;
      }
    }
  }

  void store_nested(const NestedScales& nested, std::int64_t row) {
    const std::int64_t n = shape_.n_groups();
    const std::int64_t first = row * n;
    const NestedOffsets offsets = nested_offsets(shape_);
    std::byte* const codes = scales_at(0);
    for (std::int64_t i = 0; i < n; ++i) {
      codes[i * kPanelColumns + column_] = std::byte{nested.codes[static_cast<std::size_t>(first + i)]};
    }
    reinterpret_cast<float*>(scales_at(offsets.means))[column_] = nested.mean * format_.step;
    reinterpret_cast<std::int32_t*>(scales_at(offsets.places))[column_] = static_cast<std::int32_t>(first % kNestedScales);
    const auto block = static_cast<std::size_t>(first / kNestedScales);
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.n_nested_blocks()) && block + i < nested.outer.size(); ++i) {
      auto* const outer = reinterpret_cast<float*>(scales_at(offsets.blocks)) + static_cast<std::int64_t>(i) * kPanelColumns;
      outer[column_] = nested.outer[block + i] * format_.step;
    }
  }

  const CodedFormat& format_;
  CodedPanel shape_;
  std::byte* panel_;
  std::int64_t column_;
};

}  // namespace

WeightFormat PanelMatrix::stored_format(WeightFormat format, std::int64_t k) {
  return rows_begin_groups(descriptor_of(format).codes, k) ? format : WeightFormat::f32;
}

std::size_t PanelMatrix::bytes_for(WeightFormat format, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>(panels_for_rows(n)) *
         static_cast<std::size_t>(panel_bytes_for(stored_format(format, k), k));
}

PanelMatrix::PanelMatrix(WeightFormat format, std::int64_t n, std::int64_t k, Buffer buffer)
    : format_(format),
      stored_(stored_format(format, k)),
      n_(n),
      k_(k),
      panel_bytes_(panel_bytes_for(stored_, k)),
      buffer_(std::move(buffer)) {}

std::int64_t PanelMatrix::n_panels() const { return panels_for_rows(n_); }

template <class Body>
void PanelMatrix::for_columns(std::int64_t row_begin, std::int64_t n_rows, ThreadPool& pool, const Body& body) {
  const std::int64_t first = row_begin / kPanelColumns;
  pool.run(panels_for_rows(row_begin + n_rows) - first, 4, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t panel = first + begin; panel < first + end; ++panel) {
      std::byte* const data = static_cast<std::byte*>(buffer_.data()) + panel * panel_bytes_;
      for (std::int64_t column = 0; column < kPanelColumns; ++column) {
        const std::int64_t row = panel * kPanelColumns + column - row_begin;
        if (row >= 0 && row < n_rows) body(data, column, row, thread);
      }
    }
  });
}

void PanelMatrix::pack_rows(std::int64_t row_begin, const TensorView& source, ThreadPool& pool, const Encoders* encoders) {
  LATHE_CHECK(row_begin >= 0 && row_begin + source.dim(0) <= n_);
  LATHE_CHECK(weights_of_row(descriptor_of(format_).codes, source) == k_);
  if (descriptor_of(format_).is_coded()) return pack_codes(row_begin, source, pool, coded_format(format_, encoders));
  for_columns(row_begin, source.dim(0), pool, [&](std::byte* panel, std::int64_t column, std::int64_t row, int) {
    pack_floats(stored_, source, row, panel, column);
  });
}

void PanelMatrix::pack_codes(std::int64_t row_begin, const TensorView& source, ThreadPool& pool, const CodedFormat& format) {
  const TensorCodes codes(format, source, [&](std::int64_t n, const auto& body) {
    pool.run(n, kScalesOfThread, [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
  });
  std::vector<RowOfCodes> rooms(static_cast<std::size_t>(pool.n_threads()), RowOfCodes(codes, k_));
  for_columns(row_begin, source.dim(0), pool, [&](std::byte* panel, std::int64_t column, std::int64_t row, int thread) {
    RowOfCodes& room = rooms[static_cast<std::size_t>(thread)];
    if (stored_ == format_) return CodedColumn(format, k_, panel, column).store(codes, row, room);
    codes.decoded_row(row, room.weights);
    pack_floats(stored_, {room.weights.data(), Dtype::f32, {1, k_}}, 0, panel, column);
  });
}

}  // namespace lathe::kernels
