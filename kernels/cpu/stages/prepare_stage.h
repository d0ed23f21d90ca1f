// SPDX-License-Identifier: Apache-2.0
// PrepareStage: adds, normalises and packs the rows of a product's input.
#pragma once

#include <span>

#include "kernels/api/backend.h"
#include "kernels/cpu/stages/row_progress.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

/// A stage of run_stages(). An item is some tiles of a chunk of rows.
struct PrepareStage {
  const OpTable& ops;
  const LinearOps& linear;              ///< ops of the product that reads the packed rows
  std::span<const std::int32_t> order;  ///< PackedMatrix::input_order() of that product's matrix
  PackedRows packed;
  RowCut cut;
  std::int64_t n_pieces;  ///< pieces of each chunk
  HalfInput in;           ///< input rows, as many as are packed
  RowProgress* before;    ///< progress of the stage that writes in.x, or null
  RowProgress& done;      ///< expects the items of this stage

  std::int64_t n_items() const { return cut.n_chunks * n_pieces; }
  void run(std::int64_t item, int thread) const;

 private:
  void pack_in_order(const TensorView& x, std::int64_t tile_begin, std::int64_t tile_end) const;
};

/// Number of pieces of each chunk: enough to occupy n_threads, and none too small to be worth its cost.
std::int64_t n_prepared_pieces(const RowCut& cut, std::int64_t row_elements, int n_threads);

}  // namespace lathe::kernels
