// SPDX-License-Identifier: Apache-2.0
// AttendStage: the attention of a step's rows, as items for threads.
#pragma once

#include <span>

#include "kernels/cpu/stages/row_progress.h"
#include "kernels/cpu/stages/thread_scratch.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

struct PlannedItem {
  AttentionItem item;
  std::int32_t divided = -1;  ///< index of the DividedItem that the item is a piece of; -1: whole
};

/// An item whose context is divided into pieces. The results of the pieces are stored one after another.
struct DividedItem {
  AttentionItem item;
  std::int64_t n_partials;
  std::int64_t n_left;  ///< pieces that are not done yet; accessed through std::atomic_ref
};

inline RowRange rows_of(const AttentionItem& item) { return {item.row, std::int64_t{item.row} + item.n_rows}; }

/// A stage of run_stages(). The thread that finishes the last piece of a divided item merges the pieces.
struct AttendStage {
  const OpTable& ops;
  AttentionArgs args;
  std::span<const PlannedItem> items;
  std::span<DividedItem> divided;
  ThreadScratch scratch;
  RowProgress* done;  ///< expects the rows of undivided and of divided items; or null

  std::int64_t n_items() const { return std::ssize(items); }
  void run(std::int64_t item, int thread) const;
};

}  // namespace lathe::kernels
