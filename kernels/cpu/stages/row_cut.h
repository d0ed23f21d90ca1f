// SPDX-License-Identifier: Apache-2.0
// RowCut: the rows of a product, cut into chunks of whole tiles.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/row_tiling.h"

namespace lathe::kernels {

/// Most rows of x that are packed at a time. Bounds the work memory: 11 MB at k = 4864 (48 MB with lists of outliers).
inline constexpr std::int64_t kMaxPackedRows = 576;
/// Most rows that are multiplied with a chunk of panels together. Their packed block of k (192 KB at most) stays in L2 while
/// the panels are read.
inline constexpr std::int64_t kMaxChunkRows = 192;

/// Rows [begin, end).
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

/// Cuts the rows into chunks of about equally many rows. Invariant: 1 to kMaxChunks chunks.
struct RowCut {
  static constexpr std::int64_t kMaxChunks = kMaxPackedRows / kMaxChunkRows;

  /// Requires: at most kMaxPackedRows rows.
  explicit RowCut(const RowTiling& rows) : tiling(rows), n_chunks((rows.n_rows + kMaxChunkRows - 1) / kMaxChunkRows) {}

  std::int64_t first_tile(std::int64_t chunk) const { return tiling.n_tiles * chunk / n_chunks; }
  RowRange rows(std::int64_t chunk) const {
    return {first_row(tiling, first_tile(chunk)), first_row(tiling, first_tile(chunk + 1))};
  }

  RowTiling tiling;
  std::int64_t n_chunks;
};

}  // namespace lathe::kernels
