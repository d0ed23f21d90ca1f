// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/multiply_stage.h"

namespace lathe::kernels {

std::int64_t tile_panels(const RowTiling& tiling, const LinearOps& ops) {
  return ops.tile_panels(static_cast<int>((tiling.n_rows + tiling.n_tiles - 1) / tiling.n_tiles));
}

void MultiplyStage::run(std::int64_t item, int thread) const {
  const std::int64_t row_chunk = item / panels.n_chunks, chunk = item % panels.n_chunks;
  const RowRange rows = cut.rows(row_chunk);
  ready.wait(rows);
  ops.multiply(args,
               {.tile_begin = cut.first_tile(row_chunk),
                .tile_end = cut.first_tile(row_chunk + 1),
                .panel_begin = panels.first_panel(chunk),
                .panel_end = panels.first_panel(chunk + 1)},
               scratch.of(thread));
  if (done != nullptr) done->finish(rows);
}

}  // namespace lathe::kernels
