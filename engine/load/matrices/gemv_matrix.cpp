// SPDX-License-Identifier: Apache-2.0
#include "engine/load/matrices/gemv_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lathe::engine {
namespace {

constexpr int kBits = 4, kPerWord = 8;
constexpr std::int64_t kFastRows = 4, kFastInputs = 64;

/// Layout of the matrix parts in the files.
struct GemvLayout {
  std::int64_t n, k, n_groups;
  std::int64_t width;  ///< stored groups per row, padding included
  std::span<const std::byte> codes, zeros;
  NumberList scales;

  std::uint8_t nibble(std::span<const std::byte> words, std::int64_t words_of_row, std::int64_t row, std::int64_t i) const {
    return word_at(words, row * words_of_row + i / kPerWord) >> i % kPerWord * kBits & 15;
  }

  void read(CodedRows& rows) const {
    for (std::int64_t r = 0; r < rows.n; ++r) {
      const std::int64_t row = rows.first + r;
      for (std::int64_t i = 0; i < k; ++i)
        rows.codes[static_cast<std::size_t>(r * k + i)] = nibble(codes, k / kPerWord, row, i);
      for (std::int64_t group = 0; group < n_groups; ++group) {
        const auto at = static_cast<std::size_t>(r * n_groups + group);
        rows.scales[at] = scales.at(row * width + group);
        rows.zeros[at] = nibble(zeros, width / kPerWord, row, group);
      }
    }
  }
};

struct GemvFastLayout {
  std::int64_t n, k, n_groups;
  std::span<const std::byte> codes;
  NumberList scales, offsets;

  std::uint8_t code_at(std::int64_t row, std::int64_t input) const {
    const std::int64_t of_32 = input % 32;
    const std::int64_t mixed = input % kFastInputs / 32 * 32 + of_32 % 8 / 2 * 8 + of_32 % 2 * 4 + of_32 / 8;
    const std::int64_t word =
        row / kFastRows * k + input / kFastInputs * kFastInputs + row % kFastRows * (kFastInputs / 4) + mixed / 4;
    std::uint16_t bits = 0;
    std::memcpy(&bits, codes.data() + word * 2, sizeof bits);
    return bits >> mixed % 4 * kBits & 15;
  }

  void read(CodedRows& rows) const {
    for (std::int64_t r = 0; r < rows.n; ++r) {
      const std::int64_t row = rows.first + r;
      for (std::int64_t i = 0; i < k; ++i) rows.codes[static_cast<std::size_t>(r * k + i)] = code_at(row, i);
      for (std::int64_t group = 0; group < n_groups; ++group) {
        const auto at = static_cast<std::size_t>(r * n_groups + group);
        rows.scales[at] = scales.at(group * n + row);
        rows.zeros[at] = offsets.at(group * n + row);
      }
    }
  }
};

CodedTensor described(const GemvMatrix& matrix, std::int64_t n, std::int64_t k) {
  const std::int64_t group = matrix.group < 0 ? k : matrix.group;
  const CodeEncoding kind = matrix.is_fast ? CodeEncoding::uint4_min : CodeEncoding::int4;
  return {.form = fmt::format("gemv{} group {}", matrix.is_fast ? " fast" : "", group),
          .kind = kind,
          .n_rows = n,
          .k = k,
          .n_groups = groups_in(k, group),
          .group = group,
          .numbers = numbers_of(kind),
          .has_zeros = true};
}

Result<void> check_words(const GemvMatrix& matrix, const TensorParts& parts, const char* expected, bool is_whole) {
  const std::vector<std::int64_t>& shape = matrix.codes->shape;
  if (shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && is_whole) return {};
  return parts.refuse(*matrix.codes, fmt::format("shape: got {}, expected {}", to_string(shape), expected));
}

/// Stored group count, padding included, read from dimension `side` of the scales; at least the needed count.
std::int64_t room_of(const StoredTensor& scales, std::size_t side, std::int64_t n_groups) {
  const std::int64_t least = groups_in(n_groups, kPerWord) * kPerWord;
  if (scales.shape.size() != 2 || scales.shape[side] % kPerWord != 0) return least;
  return std::max(scales.shape[side], least);
}

Result<CodedTensor> coded_of_packed(const GemvMatrix& matrix, const TensorParts& parts) {
  LATHE_TRY_VOID(check_words(matrix, parts, "[outputs, words]", true));
  const std::int64_t n = matrix.codes->shape[0], k = matrix.codes->shape[1] * kPerWord;
  CodedTensor coded = described(matrix, n, k);
  const std::int64_t room = room_of(*matrix.scales, 1, coded.n_groups);
  LATHE_TRY_VOID(parts.check_shape(*matrix.scales, {n, room}));
  LATHE_TRY_VOID(parts.check_shape(*matrix.zeros, {n, room / kPerWord}));
  const GemvLayout places{n, k, coded.n_groups, room, matrix.codes->bytes, matrix.zeros->bytes, numbers_in(*matrix.scales)};
  coded.read = [places](CodedRows& rows) { places.read(rows); };
  coded.formats = formats_that_keep(coded, {.are_halves = places.scales.are_halves(), .are_middle = false});
  return coded;
}

Result<CodedTensor> coded_of_fast(const GemvMatrix& matrix, const TensorParts& parts) {
  const bool is_whole = matrix.codes->shape.size() == 2 && matrix.codes->shape[1] % kFastInputs == 0;
  LATHE_TRY_VOID(check_words(matrix, parts, "[outputs / 4, inputs], a multiple of 64 inputs", is_whole));
  const std::int64_t n = matrix.codes->shape[0] * kFastRows, k = matrix.codes->shape[1];
  CodedTensor coded = described(matrix, n, k);
  const std::int64_t room = room_of(*matrix.scales, 0, coded.n_groups);
  LATHE_TRY_VOID(parts.check_shape(*matrix.scales, {room, n}));
  LATHE_TRY_VOID(parts.check_shape(*matrix.zeros, {room, n}));
  const GemvFastLayout places{
      n, k, coded.n_groups, matrix.codes->bytes, numbers_in(*matrix.scales), numbers_in(*matrix.zeros)};
  coded.read = [places](CodedRows& rows) { places.read(rows); };
  const bool are_halves = places.scales.are_halves() && places.offsets.are_halves();
  coded.formats = formats_that_keep(coded, {.are_halves = are_halves, .are_middle = false});
  return coded;
}

}  // namespace

Result<CodedTensor> coded_of(const GemvMatrix& matrix, const TensorParts& parts) {
  return matrix.is_fast ? coded_of_fast(matrix, parts) : coded_of_packed(matrix, parts);
}

}  // namespace lathe::engine
