// SPDX-License-Identifier: Apache-2.0
#include "engine/load/matrices/byte_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lathe::engine {
namespace {

constexpr int kMiddle = 128;
// 1 / 127: bitsandbytes multiplies by this reciprocal instead of dividing.
constexpr float kLlmInt8Step = 7.874015718698502e-3F;

/// Layout of the matrix parts in the files.
struct ByteLayout {
  std::int64_t k, n_groups, rows_of_block;
  std::span<const std::byte> codes, zeros;
  NumberList scales;
  int flipped;  ///< XOR mask that makes signed codes unsigned

  void read(CodedRows& rows) const {
    const std::byte* const from = codes.data() + rows.first * k;
    for (std::size_t i = 0; i < rows.codes.size(); ++i) {
      rows.codes[i] = static_cast<std::uint8_t>(std::to_integer<int>(from[i]) ^ flipped);
    }
    for (std::int64_t r = 0; r < rows.n; ++r) {
      const std::int64_t first = (rows.first + r) / rows_of_block * n_groups;
      for (std::int64_t group = 0; group < n_groups; ++group) {
        const auto at = static_cast<std::size_t>(r * n_groups + group);
        rows.scales[at] = scales.at(first + group);
        if (!zeros.empty())
          rows.zeros[at] =
              static_cast<float>(std::to_integer<int>(zeros[static_cast<std::size_t>(first + group)]) ^ kMiddle);
      }
    }
  }
};

}  // namespace

Result<CodedTensor> coded_of(const ByteMatrix& matrix, const TensorParts& parts) {
  const StoredTensor& codes = *matrix.codes;
  if (codes.shape.size() != 2 || codes.shape[0] < 1 || codes.shape[1] < 1) {
    return parts.refuse(codes, fmt::format("shape: got {}, expected [outputs, inputs]", to_string(codes.shape)));
  }
  const std::int64_t n = codes.shape[0], k = codes.shape[1];
  const std::int64_t rows = std::min(matrix.block.rows, n), group = std::min(matrix.block.columns, k);
  const std::int64_t n_groups = groups_in(k, group);
  LATHE_TRY_VOID(parts.check_grid(*matrix.scales, groups_in(n, rows), n_groups));
  if (matrix.zeros != nullptr) LATHE_TRY_VOID(parts.check_grid(*matrix.zeros, groups_in(n, rows), n_groups));
  const bool is_signed = matrix.kind != CodeEncoding::e4m3;
  CodedTensor coded{.form = fmt::format("bytes in blocks of {} {}", rows, group),
                    .kind = matrix.kind,
                    .n_rows = n,
                    .k = k,
                    .n_groups = n_groups,
                    .group = group,
                    .numbers = numbers_of(matrix.kind),
                    .step = matrix.kind == CodeEncoding::llm_int8 ? kLlmInt8Step : 1,
                    .has_zeros = matrix.zeros != nullptr};
  const std::span<const std::byte> zeros = matrix.zeros != nullptr ? matrix.zeros->bytes : std::span<const std::byte>();
  const ByteLayout places{k, n_groups, rows, codes.bytes, zeros, numbers_in(*matrix.scales), is_signed ? kMiddle : 0};
  coded.read = [places](CodedRows& some) { places.read(some); };
  const bool are_middle = std::all_of(zeros.begin(), zeros.end(), [](std::byte zero) { return zero == std::byte{0}; });
  // Weight formats of e4m3 codes or of one scale per row store f32 scales, so only integer codes need the f16 check.
  coded.formats =
      formats_that_keep(coded, {.are_halves = is_signed && places.scales.are_halves(), .are_middle = are_middle});
  return coded;
}

}  // namespace lathe::engine
