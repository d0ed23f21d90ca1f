// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/stored_format.h"

#include <algorithm>
#include <vector>

#include "kernels/api/coded_rows.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"

namespace lathe::kernels::cuda {
namespace {

Storage storage_of(Dtype element) {
  switch (element) {
    case Dtype::f16: return Storage::rows_f16;
    case Dtype::bf16: return Storage::bf16;
    default: return Storage::rows_f32;
  }
}

ScaleKind scale_kind_of(ScaleLayout scales) {
  switch (scales) {
    case ScaleLayout::half: return ScaleKind::half;
    case ScaleLayout::paired: return ScaleKind::zero;
    case ScaleLayout::minned: return ScaleKind::minimum;
    case ScaleLayout::single:
    case ScaleLayout::nested:
    case ScaleLayout::channel: return ScaleKind::single;
  }
  return ScaleKind::single;
}

/// Sets how kernels compute the value of a code: integers by arithmetic, other values of 4-bit codes with a codebook.
void set_numbers(StoredMatrix& matrix, WeightFormat format) {
  const std::vector<float> numbers = numbers_of_codes(format);
  const CodedFormat& codes = descriptor_of(format).codes;
  if (codes.bits == 8) {
    // Code 0 has the lowest value; `off` counts steps of the format.
    matrix.off = -numbers.front() / codes.step;
    return;
  }
  matrix.off = -numbers.front();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<float>(i) - matrix.off) matrix.has_book = true;
  }
  if (matrix.layout.scales == ScaleKind::single) matrix.has_book = true;
  std::copy(numbers.begin(), numbers.end(), matrix.book);
}

}  // namespace

StoredMatrix stored_matrix(WeightFormat format, std::int64_t n, std::int64_t k) {
  const FormatDescriptor& descriptor = descriptor_of(format);
  const CodedFormat& codes = descriptor.codes;
  StoredMatrix matrix{.layout = {.n = n, .k = k, .storage = storage_of(descriptor.element)}};
  if (!descriptor.is_coded()) return matrix;
  matrix.layout.storage = Storage::rows_f32;
  if (!rows_begin_groups(codes, k)) return matrix;
  matrix.layout.storage = codes.kind == CodeElement::e4m3 ? Storage::e4m3
                          : codes.bits == 8               ? Storage::code8
                                                          : Storage::code4;
  matrix.layout.scales = scale_kind_of(codes.scales);
  matrix.layout.group = codes.group;
  if (codes.kind == CodeElement::integer) set_numbers(matrix, format);
  return matrix;
}

bool is_stored_coded(const StoredMatrix& matrix) { return matrix.layout.scales != ScaleKind::none; }

float stored_scale(const CodedFormat& format, const StoredMatrix& matrix, float scale) {
  return matrix.layout.storage == Storage::code8 && matrix.layout.scales == ScaleKind::single ? scale * format.step : scale;
}

}  // namespace lathe::kernels::cuda
