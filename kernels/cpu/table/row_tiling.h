// SPDX-License-Identifier: Apache-2.0
// RowTiling: how rows of x are divided into tiles.
#pragma once

#include <cstdint>

namespace lathe::kernels {

/// Divides n_rows rows of x into n_tiles tiles. All rows go through the weights together; a tile is computed at a time.
struct RowTiling {
  std::int64_t n_rows;
  std::int64_t n_tiles;  ///< the first (n_rows mod n_tiles) have one row more than the others
};

// Internal linkage: the same function is compiled for several instruction sets.
namespace {

// Divides in 32 bits: a 64-bit division takes processors three times as long.
constexpr std::int64_t first_row(const RowTiling& tiling, std::int64_t tile) {
  const auto n_rows = static_cast<std::uint32_t>(tiling.n_rows), n_tiles = static_cast<std::uint32_t>(tiling.n_tiles);
  const std::int64_t longer = n_rows % n_tiles;
  return tile * (n_rows / n_tiles) + (tile < longer ? tile : longer);
}

constexpr std::int64_t rows_of(const RowTiling& tiling, std::int64_t tile) {
  return first_row(tiling, tile + 1) - first_row(tiling, tile);
}

}  // namespace
}  // namespace lathe::kernels
