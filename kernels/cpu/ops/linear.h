// SPDX-License-Identifier: Apache-2.0
// linear(): multiplies rows of x with panels of packed weights, for any number of rows.
// Invariant: each output is one chain of additions, k ascending, whatever tile it falls in; blocks of k continue the chain
// through the output. So all forms (GEMV, small M, GEMM) give bitwise the same row.
#pragma once

#include "kernels/cpu/ops/tile.h"
#include "kernels/cpu/ops/transpose.h"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kNeverExpand = 0;

// Most elements of x that are read again for every group of panels: 256 KB, half of the smallest L2.
constexpr std::int64_t kMaxWholeX = 65'536;

/// Offset of a tile in the block of pairs that begins at `pair`. Units: bytes from the start of the packed rows. Blocks are
/// the outermost dimension, so that a chunk of rows reads each block as one stream.
inline std::int64_t packed_offset(const PackedRows& x, std::int64_t row, std::int64_t pair, std::int64_t pair_bytes) {
  const std::int64_t block = min_of(x.block_pairs, div_up(x.k, 2) - pair);
  return (pair * x.tiling.n_rows + row * block) * pair_bytes;
}

/// A contiguous part of packed rows: pairs of one block for the rows of one tile.
struct PackPart {
  const float* x;
  std::int64_t x_stride;
  std::int64_t row;  ///< index of the first row among all packed rows
  std::int64_t n_rows;
  std::int64_t n;  ///< elements of a row; if odd, a zero follows
};

/// Calls pack_part(part, out) for all parts of `args`.
template <class Body>
void for_parts(const PackedRows& packed, const PackArgs& args, std::int64_t pair_bytes, const Body& pack_part) {
  const std::int64_t first = first_row(packed.tiling, args.tile_begin);
  for (std::int64_t tile = args.tile_begin; tile < args.tile_end; ++tile) {
    const std::int64_t row = first_row(packed.tiling, tile);
    const std::int64_t n_rows = rows_of(packed.tiling, tile);
    const float* x = args.x + (row - first) * args.x_stride;
    for (std::int64_t pair = args.pair_begin; pair < args.pair_end;) {
      const std::int64_t block = pair - pair % packed.block_pairs;
      const std::int64_t end = min_of(block + packed.block_pairs, args.pair_end);
      auto* out = static_cast<std::byte*>(packed.data) + packed_offset(packed, row, block, pair_bytes);
      pack_part(PackPart{.x = x + 2 * (pair - args.pair_begin),
                         .x_stride = args.x_stride,
                         .row = row,
                         .n_rows = n_rows,
                         .n = min_of(2 * end, packed.k) - 2 * pair},
                out + (pair - block) * n_rows * pair_bytes);
      pair = end;
    }
  }
}

/// Up to two tiles of the most rows possible; more rows are divided into tiles of at most `rows_of_many`.
template <class V>
constexpr RowTiling tiling_of(std::int64_t n_rows, std::int64_t rows_of_many) {
  constexpr std::int64_t kMost = max_tile_rows<V>();
  return {.n_rows = n_rows, .n_tiles = div_up(n_rows, n_rows <= 2 * kMost ? kMost : rows_of_many)};
}

/// linear() by multiply-adds of floats. Direct reads weights as they are stored. From kMinTilesToExpand tiles on, the first
/// tile (Expanding) also leaves an f32 copy of the block, which the other tiles (Expanded) read without spending
/// instructions on widening.
/// Ice Lake, AVX-512, a prompt of 512 tokens and one thread: tiles of 6 x 64 over 64 pairs take 4 to 8 % less time than 8 x
/// 48 over 128 pairs, whose copy fills all of L1; 7 x 64, with the fourth panel as an operand in memory, take 8 % more. With
/// 16 rows, 8 x 48 take 17 % less, because two passes suffice instead of three.
template <class Vec, class Weights, std::int64_t kMinTiles>
struct FmaLinear {
  using V = Vec;
  using W = Weights;
  using Direct = MultiplyAdd<V, W, PackedX>;
  using Expanding = MultiplyAdd<V, W, PackedX, true>;
  using Expanded = MultiplyAdd<V, ExpandedWeights<V>, PackedX>;
  static constexpr int kPackedPairBytes = 2 * sizeof(float);
  static constexpr std::int64_t kMinTilesToExpand = kMinTiles;

  static constexpr LinearTiling tiling(std::int64_t n_rows) {
    const RowTiling rows = tiling_of<V>(n_rows, V::kLanes == 16 ? 6 : max_tile_rows<V>());
    return {.rows = rows, .block_pairs = V::kLanes == 16 && rows.n_tiles > 2 ? kBlockPairs / 2 : kBlockPairs};
  }

  static void pack(const PackedRows& packed, const PackArgs& args) { for_parts(packed, args, kPackedPairBytes, pack_part); }
  static void pack_part(const PackPart& part, std::byte* to) {
    auto* out = reinterpret_cast<float*>(to);
    pack_rows_as_columns(part.x, part.x_stride, part.n_rows, part.n, out);
    for (std::int64_t r = 0; part.n % 2 != 0 && r < part.n_rows; ++r) out[part.n * part.n_rows + r] = 0;
  }
};

/// Rows of consecutive tiles, without the division of each rows_of(): two divisions per tile took 3 % of a prompt's time
/// (Skylake).
struct TileRows {
  std::int64_t first;
  std::int64_t fewest;
  std::int64_t n_longer;  ///< tiles that have one row more
  std::int64_t of(std::int64_t tile) const { return fewest + (tile < n_longer ? 1 : 0); }
};

constexpr TileRows tile_rows(const RowTiling& tiling, std::int64_t tile) {
  const std::int64_t fewest = tiling.n_rows / tiling.n_tiles;
  return {.first = first_row(tiling, tile), .fewest = fewest, .n_longer = tiling.n_rows - fewest * tiling.n_tiles};
}

/// Range of one step of multiply(): tiles of rows, panels of columns, pairs of k.
struct LinearPart {
  std::int64_t tile_begin;
  std::int64_t tile_end;
  TileRows rows;
  std::int64_t panel;
  std::int64_t n_panels;
  std::int64_t pair;
  std::int64_t n_pairs;
  std::int64_t n_lines;           ///< cache lines of a panel's weights for these pairs
  const std::byte* next_weights;  ///< first weights of the next part
};

/// Multiplies all tiles of rows with one block of k of some panels. Each tile prefetches its share of the next block;
/// otherwise memory would be idle while all tiles but the first find their weights in the cache. Ice Lake, 16 rows: a pass
/// takes 8 % less time on AVX-512 and 20 to 40 % less on AVX2.
template <class First, class Others>
void multiply_tiles(const LinearArgs& args, const LinearPart& part, TileArgs t, std::int64_t packed_pair_bytes) {
  float* const out = t.out;
  std::int64_t left = part.n_lines;
  std::int64_t row = part.rows.first;
  for (std::int64_t tile = part.tile_begin; tile < part.tile_end; ++tile) {
    const std::int64_t n_rows = part.rows.of(tile);
    t.x = static_cast<const std::byte*>(args.x.data) + packed_offset(args.x, row, part.pair, packed_pair_bytes);
    t.out = out + (row - args.out_row) * args.out_stride;
    t.next_out = tile + 1 < part.tile_end ? t.out + n_rows * t.out_stride : out;
    t.n_ahead = min_of(t.n_ahead, left);
    left -= t.n_ahead;
    if (tile == part.tile_begin) {
      multiply_tile<First>(n_rows, part.n_panels, t);
      if constexpr (First::kExpands) t.weights = reinterpret_cast<const std::byte*>(t.expanded);
    } else {
      multiply_tile<Others>(n_rows, part.n_panels, t);
    }
    t.ahead += t.n_ahead * kCacheLine;
    row += n_rows;
  }
}

/// True if weights are left to the processor's prefetchers. 8-bit weights that must be widened are excluded: they are more
/// work per cache line and gain by prefetch instructions.
template <class L>
bool streams_alone(const LinearArgs& args) {
  return args.streams_alone && L::Direct::kPairBytes >= kCacheLine;
}

template <class L>
void multiply_part(const LinearArgs& args, const LinearPart& part, float* scratch) {
  const std::int64_t column = part.panel * kPanelColumns;
  const bool is_last = part.pair + part.n_pairs >= div_up(args.x.k, 2);
  const std::int64_t n_tiles = part.tile_end - part.tile_begin;
  TileArgs t{.x = nullptr,
             .weights = args.weights + part.panel * args.panel_bytes + part.pair * L::Direct::kPairBytes,
             .panel_bytes = args.panel_bytes,
             .n_pairs = part.n_pairs,
             .out = args.out + column - args.out_panel * kPanelColumns,
             .out_stride = args.out_stride,
             .n_columns = args.n - column,
             .continues = part.pair > 0,
             .bias = args.bias != nullptr && is_last ? args.bias + column : nullptr,
             .ahead = part.next_weights,
             .ahead_panel_bytes = args.panel_bytes,
             .next_out = nullptr,  // set per tile
             .n_ahead = streams_alone<L>(args) ? 0 : min_of(part.n_pairs, div_up(part.n_lines, n_tiles)),
             .expanded = scratch};
  if constexpr (L::Direct::kIsScaled) {
    t.scales = L::W::scales_at(args.weights + part.panel * args.panel_bytes, args.x.k, part.pair);
  }
  if constexpr (L::kMinTilesToExpand != kNeverExpand) {
    if (n_tiles >= L::kMinTilesToExpand) {
      return multiply_tiles<typename L::Expanding, typename L::Expanded>(args, part, t, L::kPackedPairBytes);
    }
  }
  multiply_tiles<typename L::Direct, typename L::Direct>(args, part, t, L::kPackedPairBytes);
}

template <class L>
void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
  const std::int64_t n_pairs = div_up(args.x.k, 2);
  const std::int64_t n_tiles = range.tile_end - range.tile_begin;
  const std::int64_t block = n_tiles == 1 ? n_pairs : args.x.block_pairs;
  const TileRows rows = tile_rows(args.x.tiling, range.tile_begin);
  const std::int64_t group = panels_for<typename L::V>(static_cast<int>(rows.of(range.tile_begin)));
  // A small x stays in L2 as a whole, and weights are read in memory order. Of a large x only one block of k stays in L2: it
  // is multiplied with all panels before the next block.
  const std::int64_t n_rows = first_row(args.x.tiling, range.tile_end) - rows.first;
  const std::int64_t stretch = n_rows * args.x.k > kMaxWholeX ? range.panel_end - range.panel_begin : group;
  const auto weights_at = [&args](std::int64_t panel, std::int64_t pair) {
    return args.weights + panel * args.panel_bytes + pair * L::Direct::kPairBytes;
  };
  for (std::int64_t begin = range.panel_begin; begin < range.panel_end; begin += stretch) {
    const std::int64_t end = min_of(begin + stretch, range.panel_end);
    for (std::int64_t pair = 0; pair < n_pairs; pair += block) {
      for (std::int64_t panel = begin; panel < end; panel += group) {
        const std::byte* next = panel + group < end            ? weights_at(panel + group, pair)
                                : pair + block < n_pairs       ? weights_at(begin, pair + block)
                                : end < range.panel_end        ? weights_at(end, 0)
                                : args.next_weights != nullptr ? args.next_weights
                                                               : weights_at(panel, pair);
        multiply_part<L>(args,
                         {.tile_begin = range.tile_begin,
                          .tile_end = range.tile_end,
                          .rows = rows,
                          .panel = panel,
                          .n_panels = min_of(group, end - panel),
                          .pair = pair,
                          .n_pairs = min_of(block, n_pairs - pair),
                          .n_lines = min_of(block, n_pairs - pair) * L::Direct::kPairBytes / kCacheLine,
                          .next_weights = next},
                         scratch);
      }
    }
  }
}

template <class L>
constexpr LinearOps linear_ops() {
  return {.packed_row_bytes = [](std::int64_t k) { return div_up(k, 2) * L::kPackedPairBytes; },
          .pack_columns = 2,
          .tile_panels = panels_for<typename L::V>,
          .tiling = L::tiling,
          .pack = L::pack,
          .multiply = multiply<L>};
}

}  // namespace
}  // namespace lathe::kernels
