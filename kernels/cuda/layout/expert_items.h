// SPDX-License-Identifier: Apache-2.0
// Expert items: the rows of a step sorted by expert, and the division of the products of all experts into items of work. A
// pair is one choice of one row, pair row * top_k + choice. Each pair has a slot: the slots of one expert are adjacent, by
// ascending pair, and begin at a multiple of kRowTile, so that they are tiles of prepared x.
#pragma once

#include <cstdint>

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

inline constexpr int kSliceRows = 32;  ///< most rows of an item

/// Rows of one expert that has some.
struct ExpertRows {
  std::int32_t expert = 0;
  std::int32_t first_slot = 0;
  std::int32_t n_rows = 0;
  std::int32_t first_slice = 0;  ///< slices of the experts before it
};

/// Slots of n_rows rows.
LATHE_ON_BOTH constexpr std::int32_t slots_of(std::int32_t n_rows) { return (n_rows + kRowTile - 1) / kRowTile * kRowTile; }
LATHE_ON_BOTH constexpr std::int32_t slices_of(std::int32_t n_rows) { return (n_rows + kSliceRows - 1) / kSliceRows; }
/// Most slots of n_pairs.
LATHE_ON_BOTH constexpr std::int64_t most_slots(std::int64_t n_pairs, std::int64_t n_experts) {
  return n_pairs + (n_pairs < n_experts ? n_pairs : n_experts) * (kRowTile - 1);
}

/// Up to kSliceRows rows of an expert, and a group of tiles of its matrix.
struct ExpertItem {
  std::int32_t expert = 0;
  std::int32_t first_slot = 0;
  std::int32_t n_rows = 0;
  std::int32_t group = 0;
};

/// Item `index` of all, which belongs to `rows`: the slices of one group of tiles follow each other, so that its weights are
/// read once. n_groups: of a matrix. Requires: rows.first_slice * n_groups <= index, and less than that of the expert after
/// it.
LATHE_ON_BOTH constexpr ExpertItem item_of(const ExpertRows& rows, std::int64_t index, int n_groups) {
  const auto inner = static_cast<std::int32_t>(index - std::int64_t{rows.first_slice} * n_groups);
  const std::int32_t n_slices = slices_of(rows.n_rows), slice = inner % n_slices, left = rows.n_rows - slice * kSliceRows;
  return {.expert = rows.expert,
          .first_slot = rows.first_slot + slice * kSliceRows,
          .n_rows = left < kSliceRows ? left : kSliceRows,
          .group = inner / n_slices};
}

/// Items of a block are adjacent: from first_item() of the block to that of the block after it.
LATHE_ON_BOTH constexpr std::int64_t first_item(std::int64_t block, std::int64_t n_blocks, std::int64_t n_items) {
  return block * n_items / n_blocks;
}

}  // namespace lathe::kernels::cuda
