// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/inner_stage.h"

#include "kernels/cpu/stages/div_up.h"

namespace lathe::kernels {
namespace {

/// Arguments that write a range of the product to `out`, whose rows are as wide as the range.
LinearArgs with_chunk_out(LinearArgs args, const LinearRange& range, float* out) {
  args.out = out;
  args.out_stride = (range.panel_end - range.panel_begin) * kPanelColumns;
  args.out_row = first_row(args.x.tiling, range.tile_begin);
  args.out_panel = range.panel_begin;
  return args;
}

}  // namespace

std::int64_t max_inner_panels(const RowCut& cut) {
  const std::int64_t n_tiles = div_up(cut.tiling.n_tiles, cut.n_chunks);
  const std::int64_t n_rows = n_tiles * div_up(cut.tiling.n_rows, cut.tiling.n_tiles);
  return std::min(kMaxChunkPanels, InnerStage::kMaxFloats / (n_rows * kPanelColumns));
}

void InnerStage::run(std::int64_t item, int thread) const {
  const std::int64_t row_chunk = item / panels.n_chunks, chunk = item % panels.n_chunks;
  const LinearRange range{.tile_begin = cut.first_tile(row_chunk),
                          .tile_end = cut.first_tile(row_chunk + 1),
                          .panel_begin = panels.first_panel(chunk),
                          .panel_end = panels.first_panel(chunk + 1)};
  const RowRange rows = cut.rows(row_chunk);
  float* const own = scratch.of(thread);
  float* const first_out = own + kLinearScratchFloats;
  float* const second_out = first_out + kMaxFloats;
  ready.wait(rows);
  LinearArgs first = with_chunk_out(gate, range, first_out);
  if (is_gated) first.next_weights = up.weights + range.panel_begin * up.panel_bytes;
  linear.multiply(first, range, own);
  if (is_gated) linear.multiply(with_chunk_out(up, range, second_out), range, own);
  combine(range, first_out, is_gated ? second_out : nullptr);
  done.finish(rows);
}

void InnerStage::combine(const LinearRange& range, float* first, const float* second) const {
  const std::int64_t row = first_row(cut.tiling, range.tile_begin);
  const std::int64_t column = range.panel_begin * kPanelColumns, inner = up.n;
  const std::int64_t n_columns = (range.panel_end - range.panel_begin) * kPanelColumns;
  const bool is_packed = packed.data != nullptr;
  activate({.out = is_packed ? first : loose + row * inner + column,
            .out_stride = is_packed ? n_columns : inner,
            .gate = first,
            .up = second,
            .in_stride = n_columns,
            .n = std::min(n_columns, inner - column)},
           0, first_row(cut.tiling, range.tile_end) - row);
  if (!is_packed) return;
  next.pack(packed, {.x = first,
                     .x_stride = n_columns,
                     .tile_begin = range.tile_begin,
                     .tile_end = range.tile_end,
                     .pair_begin = column / 2,
                     .pair_end = std::min(range.panel_end * kPanelColumns / 2, div_up(inner, 2))});
}

}  // namespace lathe::kernels
