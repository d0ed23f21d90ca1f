// SPDX-License-Identifier: Apache-2.0
#include "engine/load/matrices/mx_matrix.h"

#include <fmt/format.h>

#include <bit>

namespace lathe::engine {
namespace {

void read(const MxMatrix& matrix, CodedRows& rows) {
  const std::int64_t n_blocks = matrix.k / kMxBlock;
  for (std::int64_t i = 0; i < rows.n * n_blocks; ++i) {
    const std::int64_t block = rows.first * n_blocks + i;
    rows.scales[static_cast<std::size_t>(i)] =
        power_of_e8m0(matrix.scales[static_cast<std::size_t>(block * matrix.scale_stride)]);
    const std::byte* const from = matrix.codes.data() + block * matrix.code_stride;
    std::uint8_t* const to = rows.codes.data() + i * kMxBlock;
    const std::int64_t step = matrix.halves_apart ? 1 : 2, to_high = matrix.halves_apart ? kMxBlockBytes : 1;
    for (std::int64_t j = 0; j < kMxBlockBytes; ++j) {
      const auto both = std::to_integer<unsigned>(from[j]);
      to[j * step] = static_cast<std::uint8_t>(both & 15U);
      to[j * step + to_high] = static_cast<std::uint8_t>(both >> 4);
    }
  }
}

}  // namespace

float power_of_e8m0(std::byte scale) {
  constexpr std::uint32_t kSmallest = 0x0040'0000;  // 2^-127, a subnormal f32
  const auto exponent = std::to_integer<std::uint32_t>(scale);
  return std::bit_cast<float>(exponent == 0 ? kSmallest : exponent << 23);
}

CodedTensor coded_of(const MxMatrix& matrix) {
  CodedTensor coded{.form = fmt::format("mxfp4 {}", matrix.halves_apart ? "halves apart" : "in turns"),
                    .kind = CodeEncoding::mxfp4,
                    .n_rows = matrix.n,
                    .k = matrix.k,
                    .n_groups = matrix.k / kMxBlock,
                    .group = kMxBlock,
                    .numbers = numbers_of(CodeEncoding::mxfp4)};
  coded.read = [matrix](CodedRows& rows) { read(matrix, rows); };
  coded.formats = formats_that_keep(coded, {});
  return coded;
}

}  // namespace lathe::engine
