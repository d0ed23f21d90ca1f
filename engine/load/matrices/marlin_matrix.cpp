// SPDX-License-Identifier: Apache-2.0
#include "engine/load/matrices/marlin_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace lathe::engine {
namespace {

constexpr int kTile = 16, kWordBits = 32;
constexpr std::int64_t kTileOutputs = 64, kOfTile = kTile * kTileOutputs;

/// Stored position of each code of a tile. The index counts four squares of 16 x 16 one after the other, inputs first.
using TileOrder = std::array<std::uint16_t, kOfTile>;

/// Thread i of 32 holds column i / 4 of the fragments of mma.m16n8k16; in each word its codes with even index come first.
constexpr TileOrder order_of(bool is_sparse, int bits) {
  TileOrder order{};
  const int per_word = kWordBits / bits;
  for (int at = 0; at < kOfTile; ++at) {
    const int in_word = at % per_word, half = per_word / 2;
    const int from = at - in_word + (in_word < half ? in_word * 2 : (in_word - half) * 2 + 1);
    const int thread = from / 32, square = from / 8 % 4, block = from / 4 % 2, step = from % 4;
    const int row = 2 * (thread % 4) + step % 2 + 8 * (step / 2), column = thread / 4;
    const int code = is_sparse ? kTile * row + column / 2 * 256 + 8 * (column % 2) + 4 * block + square
                               : kTile * row + column + 8 * block + 256 * square;
    order[static_cast<std::size_t>(code)] = static_cast<std::uint16_t>(at);
  }
  return order;
}

constexpr TileOrder kOrder = order_of(false, 4), kSparseOrder4 = order_of(true, 4), kSparseOrder8 = order_of(true, 8);

const TileOrder& order_for(const MarlinMatrix& matrix) {
  if (matrix.places == nullptr) return kOrder;
  return matrix.bits == 4 ? kSparseOrder4 : kSparseOrder8;
}

/// Layout of the matrix parts in the files.
struct MarlinLayout {
  std::int64_t n, k, n_groups;
  int bits;
  const TileOrder& order;
  std::span<const std::byte> codes, places;
  NumberList scales;

  /// Code of output `row` at an input; 2:4 sparse: `input` counts the stored weights.
  std::uint8_t code_at(std::int64_t row, std::int64_t input) const {
    const std::int64_t in_tile = row % kTileOutputs / kTile * kTile * kTile + input % kTile * kTile + row % kTile;
    const std::int64_t tile = input / kTile * (n / kTileOutputs) + row / kTileOutputs;
    const std::int64_t at = (tile * kOfTile + order[static_cast<std::size_t>(in_tile)]) * bits;
    return static_cast<std::uint8_t>(word_at(codes, at / kWordBits) >> at % kWordBits & ((1U << bits) - 1));
  }

  /// 2:4 metadata of 16 inputs: which two of each four are stored. CUTLASS permutes rows in blocks of 64 and swaps
  /// neighbours crosswise.
  unsigned places_at(std::int64_t row, std::int64_t column) const {
    std::int64_t to = row / 64 * 64 + row % 2 * 2 + row % 8 / 4 + row % 4 / 2 * 32 + row % 64 / 8 * 4;
    const std::int64_t moved = to % 2 == column % 2 ? 0 : column % 2 - to % 2;
    to += moved;
    column -= moved;
    std::uint16_t places_of_16 = 0;
    std::memcpy(&places_of_16, places.data() + 2 * (column / 2 * n * 2 + to * 2 + column % 2), sizeof places_of_16);
    return places_of_16;
  }

  void read_row(std::int64_t row, std::uint8_t* to) const {
    if (places.empty()) {
      for (std::int64_t i = 0; i < k; ++i) to[i] = code_at(row, i);
      return;
    }
    std::fill_n(to, k, static_cast<std::uint8_t>(1U << (bits - 1)));
    for (std::int64_t four = 0; four < k / 4; ++four) {
      const unsigned both = places_at(row, four / 4) >> four % 4 * 4;
      to[four * 4 + (both & 3U)] = code_at(row, four * 2);
      to[four * 4 + (both >> 2 & 3U)] = code_at(row, four * 2 + 1);
    }
  }

  std::int64_t scale_place(std::int64_t row) const {
    if (places.empty()) {
      return n_groups > 1 ? row / 64 * 64 + row % 8 * 8 + row % 64 / 8
                          : row / 32 * 32 + row % 8 / 2 * 8 + row % 32 / 8 * 2 + row % 2;
    }
    return n_groups > 1 ? row / 8 * 8 + row % 4 * 2 + row % 8 / 4 : row;
  }

  void read(CodedRows& rows) const {
    for (std::int64_t r = 0; r < rows.n; ++r) {
      const std::int64_t row = rows.first + r;
      read_row(row, rows.codes.data() + r * k);
      for (std::int64_t group = 0; group < n_groups; ++group) {
        rows.scales[static_cast<std::size_t>(r * n_groups + group)] = scales.at(group * n + scale_place(row));
      }
    }
  }
};

}  // namespace

Result<CodedTensor> coded_of(const MarlinMatrix& matrix, const TensorParts& parts) {
  const std::vector<std::int64_t>& shape = matrix.codes->shape;
  const std::int64_t words = kTile * matrix.bits / kWordBits;  // words per output in a row of tiles
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] % (kTileOutputs * words) != 0) {
    return parts.refuse(*matrix.codes, fmt::format("shape: got {}, expected tiles of {} inputs with {} words for {} outputs",
                                                   to_string(shape), kTile, kTileOutputs * words, kTileOutputs));
  }
  const std::int64_t n = shape[1] / words, k = shape[0] * kTile * (matrix.places != nullptr ? 2 : 1);
  const std::int64_t group = matrix.group < 0 ? k : std::min(matrix.group, k), n_groups = groups_in(k, group);
  LATHE_TRY_VOID(parts.check_shape(*matrix.scales, {n_groups, n}));
  if (matrix.places != nullptr) LATHE_TRY_VOID(parts.check_shape(*matrix.places, {k / 32, n * 2}));
  const std::span<const std::byte> of_places =
      matrix.places != nullptr ? matrix.places->bytes : std::span<const std::byte>();
  CodedTensor coded{.form = fmt::format("marlin {} bits group {}", matrix.bits, group),
                    .kind = matrix.bits == 4 ? CodeEncoding::int4 : CodeEncoding::int8,
                    .n_rows = n,
                    .k = k,
                    .n_groups = n_groups,
                    .group = group};
  const MarlinLayout places{
      n, k, n_groups, matrix.bits, order_for(matrix), matrix.codes->bytes, of_places, numbers_in(*matrix.scales)};
  coded.numbers = numbers_of(coded.kind);
  coded.read = [places](CodedRows& rows) { places.read(rows); };
  coded.formats = formats_that_keep(coded, {.are_halves = places.scales.are_halves()});
  return coded;
}

}  // namespace lathe::engine
