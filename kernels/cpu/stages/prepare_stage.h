// SPDX-License-Identifier: Apache-2.0
// PrepareStage: rows for a product, normalised where they are to be, and packed.
#pragma once

#include <span>

#include "kernels/api/backend.h"
#include "kernels/cpu/stages/row_progress.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

/// A stage of run_stages(). An item is some tiles of a chunk of rows.
struct PrepareStage {
  const OpTable& ops;
  const LinearOps& linear;              ///< that will read the packed rows
  std::span<const std::int32_t> order;  ///< PackedMatrix::input_order() of what they will meet
  PackedRows packed;
  RowCut cut;
  std::int64_t n_pieces;  ///< of each chunk
  HalfInput in;           ///< as many rows as are packed
  RowProgress* before;    ///< of a stage that gives in.x, or null
  RowProgress& done;      ///< expects the items of this stage

  std::int64_t n_items() const { return cut.n_chunks * n_pieces; }
  void run(std::int64_t item, int thread) const;

 private:
  void pack_in_order(const TensorView& x, std::int64_t tile_begin, std::int64_t tile_end) const;
};

/// How many pieces to make of each chunk, so that n_threads have something to do and none has too little to be worth it.
std::int64_t n_prepared_pieces(const RowCut& cut, std::int64_t row_elements, int n_threads);

}  // namespace lathe::kernels
