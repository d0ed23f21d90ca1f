// SPDX-License-Identifier: Apache-2.0
// RowCut: the rows of a product, cut into chunks of whole tiles.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/row_tiling.h"

namespace lathe::kernels {

/// Rows of x that are packed at a time: bounds the work memory, 11 MB at k = 4864 (48 MB where outliers have their lists).
inline constexpr std::int64_t kMaxPackedRows = 576;
/// Rows that meet a chunk of panels together: their packed block of k (192 KB at most) stays in L2 while panels pass by.
inline constexpr std::int64_t kMaxChunkRows = 192;

/// Rows [begin, end).
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

/// Chunks have about equally many rows. Invariant: 1 to kMaxChunks of them.
struct RowCut {
  static constexpr std::int64_t kMaxChunks = kMaxPackedRows / kMaxChunkRows;

  /// Requires: kMaxPackedRows at most.
  explicit RowCut(const RowTiling& rows) : tiling(rows), n_chunks((rows.n_rows + kMaxChunkRows - 1) / kMaxChunkRows) {}

  std::int64_t first_tile(std::int64_t chunk) const { return tiling.n_tiles * chunk / n_chunks; }
  RowRange rows(std::int64_t chunk) const {
    return {first_row(tiling, first_tile(chunk)), first_row(tiling, first_tile(chunk + 1))};
  }

  RowTiling tiling;
  std::int64_t n_chunks;
};

}  // namespace lathe::kernels
