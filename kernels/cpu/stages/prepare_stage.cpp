// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/prepare_stage.h"

#include <algorithm>

#include "kernels/cpu/stages/row_ops.h"
#include "kernels/cpu/table/coded_layout.h"

namespace lathe::kernels {
namespace {

// Columns that are reordered at a time: whole parts of every format that is not packed by whole rows. The columns of a tile
// stay in L1.
constexpr std::int64_t kOrderedColumns = kActivationBlock;
constexpr std::int64_t kMaxTileRows = 16;  // rows of a tile in tile registers; tiles of vectors have fewer

}  // namespace

void PrepareStage::run(std::int64_t item, int /*thread*/) const {
  const std::int64_t chunk = item / n_pieces, piece = item % n_pieces;
  const std::int64_t first = cut.first_tile(chunk), n_tiles = cut.first_tile(chunk + 1) - first;
  const std::int64_t tile_begin = first + n_tiles * piece / n_pieces;
  const std::int64_t tile_end = first + n_tiles * (piece + 1) / n_pieces;
  const RowRange rows{first_row(cut.tiling, tile_begin), first_row(cut.tiling, tile_end)};
  if (before != nullptr) before->wait(rows);
  if (in.norm) {
    norm_of(ops, *in.norm)(norm_args(in.normed, in.x, in.delta, *in.norm), rows.begin, rows.end);
  } else if (in.delta.data != nullptr) {
    ops.add(add_args(in.x, in.delta), rows.begin, rows.end);
  }
  const TensorView& x = in.norm ? in.normed : in.x;
  if (!order.empty()) {
    pack_in_order(x, tile_begin, tile_end);
  } else if (tile_begin < tile_end) {
    linear.pack(packed, {.x = x.row<float>(rows.begin),
                         .x_stride = x.strides[0],
                         .tile_begin = tile_begin,
                         .tile_end = tile_end,
                         .pair_begin = 0,
                         .pair_end = (packed.k + 1) / 2});
  }
  done.finish(cut.rows(chunk));
}

void PrepareStage::pack_in_order(const TensorView& x, std::int64_t tile_begin, std::int64_t tile_end) const {
  alignas(64) float part[kMaxTileRows * kOrderedColumns];
  for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::int64_t row = first_row(cut.tiling, tile), n_rows = rows_of(cut.tiling, tile);
    LATHE_CHECK(n_rows <= kMaxTileRows);
    for (std::int64_t begin = 0; begin < packed.k; begin += kOrderedColumns) {
      const std::int64_t n = std::min(kOrderedColumns, packed.k - begin);
      const std::int32_t* const inputs = order.data() + begin;
      for (std::int64_t r = 0; r < n_rows; ++r) {
        const float* const from = x.row<float>(row + r);
        for (std::int64_t i = 0; i < n; ++i) part[r * kOrderedColumns + i] = from[inputs[i]];
      }
      linear.pack(packed, {.x = part,
                           .x_stride = kOrderedColumns,
                           .tile_begin = tile,
                           .tile_end = tile + 1,
                           .pair_begin = begin / 2,
                           .pair_end = (begin + n + 1) / 2});
    }
  }
}

std::int64_t n_prepared_pieces(const RowCut& cut, std::int64_t row_elements, int n_threads) {
  const std::int64_t n_elements = cut.tiling.n_rows * row_elements;
  const std::int64_t n_worth_it = n_elements < kMinElementsToShare ? 1 : 2 * n_elements / kMinElementsToShare;
  const std::int64_t most = std::min<std::int64_t>(n_worth_it, std::int64_t{4} * n_threads);
  return std::clamp<std::int64_t>(most / cut.n_chunks, 1, std::max<std::int64_t>(1, cut.tiling.n_tiles / cut.n_chunks));
}

}  // namespace lathe::kernels
