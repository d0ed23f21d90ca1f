// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/coded_rows.h"

#include <algorithm>

#include "kernels/api/check.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"

namespace lathe::kernels {

std::int64_t group_of(WeightFormat format, std::int64_t k) {
  const int group = descriptor_of(format).codes.group;
  return group == 0 ? k : group;
}

bool has_zero_points(WeightFormat format) { return descriptor_of(format).codes.has_zeros(); }

bool has_minimums(WeightFormat format) { return descriptor_of(format).codes.has_minimums(); }

bool is_load_only(WeightFormat format) { return descriptor_of(format).is_load_only; }

bool rounds_whole_rows(WeightFormat format) {
  const ActivationScale activations = descriptor_of(format).codes.activations;
  return activations == ActivationScale::row || activations == ActivationScale::row_of_inliers;
}

bool has_half_scales(WeightFormat format) {
  const ScaleLayout scales = descriptor_of(format).codes.scales;
  return scales == ScaleLayout::half || scales == ScaleLayout::paired;
}

std::vector<float> numbers_of_codes(WeightFormat format) {
  const CodedFormat& codes = descriptor_of(format).codes;
  std::vector<float> numbers;
  for (int code = 0; code < 1 << codes.bits; ++code)
    numbers.push_back(codes.decode(codes, static_cast<std::uint8_t>(code), {.scale = 1, .zero = 0}));
  return numbers;
}

std::int64_t coded_row_bytes(WeightFormat format, std::int64_t k) {
  const CodedFormat& codes = descriptor_of(format).codes;
  if (codes.blocks == nullptr || k < 1 || !rows_begin_groups(codes, k)) return 0;
  const std::int64_t group = group_of(format, k), last = k % group;
  if (last != 0 && codes.blocks->whole_groups) return 0;
  return k / group * codes.blocks->bytes_of(group) + (last != 0 ? codes.blocks->bytes_of(last) : 0);
}

void write_coded_row(WeightFormat format, const CodedRow& row, std::byte* to) {
  const std::size_t k = row.codes.size();
  LATHE_CHECK(coded_row_bytes(format, static_cast<std::int64_t>(k)) > 0);
  const StoredBlocks& blocks = *descriptor_of(format).codes.blocks;
  const auto group = static_cast<std::size_t>(group_of(format, static_cast<std::int64_t>(k)));
  LATHE_CHECK(row.scales.size() * group >= k && (row.zeros.empty() || row.zeros.size() == row.scales.size()));
  for (std::size_t i = 0, begin = 0; begin < k; ++i, begin += group) {
    const auto codes = row.codes.subspan(begin, std::min(group, k - begin));
    blocks.write({.scale = row.scales[i], .zero = row.zeros.empty() ? 0 : row.zeros[i]}, codes, to);
    to += blocks.bytes_of(static_cast<std::int64_t>(codes.size()));
  }
}

}  // namespace lathe::kernels
