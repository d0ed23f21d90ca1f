// SPDX-License-Identifier: Apache-2.0
// MultiplyStage: a product of packed rows and a packed matrix.
#pragma once

#include "kernels/cpu/stages/panel_cut.h"
#include "kernels/cpu/stages/row_progress.h"
#include "kernels/cpu/stages/thread_scratch.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

/// Panels that a tile of these rows covers.
std::int64_t tile_panels(const RowTiling& tiling, const LinearOps& ops);

/// A stage of run_stages(). An item is a chunk of rows times a chunk of panels.
struct MultiplyStage {
  const LinearOps& ops;
  LinearArgs args;
  RowCut cut;
  PanelCut panels;
  ThreadScratch scratch;
  RowProgress& ready;  ///< progress of the packed rows
  RowProgress* done;   ///< expects the items of this stage; or null

  std::int64_t n_items() const { return cut.n_chunks * panels.n_chunks; }
  void run(std::int64_t item, int thread) const;
};

}  // namespace lathe::kernels
