// SPDX-License-Identifier: Apache-2.0
// linear() for coded weights with activations that are not rounded: a block of k at a time is expanded to f32 in the cache,
// where tiles of floats read it. Invariant: as in linear.h.
#pragma once

#include "kernels/cpu/ops/coded_scales.h"
#include "kernels/cpu/ops/linear.h"
#include "kernels/cpu/table/coded_layout.h"

namespace lathe::kernels {
namespace {

/// Pairs of k whose 4-bit codes share bytes.
constexpr std::int64_t kNibblePairs = 2 * kQuad / kPair;

/// Expands 4-bit codes in groups of kGroup: codebook values times the scale of their group.
template <class Vec, class Book, int kGroup, class S>
struct BookExpander {
  using V = Vec;
  static_assert(kGroup % (kNibblePairs * kPair) == 0);

  static CodedPanel shape_of(std::int64_t k) { return {.k = k, .bits = 4, .group = kGroup, .scales = S::kLayout}; }

  /// Expands pairs of a panel to [pair][2][16], `stride` floats from pair to pair. `room`: work space for their scales.
  /// Requires: `first_pair` begins a group.
  static void expand(const std::byte* panel, std::int64_t k, std::int64_t first_pair, std::int64_t n_pairs, float* out,
                     std::int64_t stride, float* room) {
    const CodedPanel shape = shape_of(k);
    const std::int64_t first_group = first_pair * kPair / kGroup;
    const float* scales = S::at(panel + shape.codes_bytes(), first_group);
    if constexpr (S::kExpands) {
      S::template expand<V>(panel + shape.codes_bytes(), shape, first_group, div_up(n_pairs * kPair, kGroup), room);
      scales = room;
    }
    const std::byte* codes = panel + first_pair / kNibblePairs * kPanelColumns * kQuad;
    for (std::int64_t pair = 0; pair < n_pairs; pair += kNibblePairs, codes += kPanelColumns * kQuad) {
      const float* const of_group = scales + pair * kPair / kGroup * kPanelColumns;
#pragma GCC unroll 16
      for (int j = 0; j < kPanelColumns; j += V::kLanes) {
        const auto scale = V::load(of_group + j);
        const auto both = V::load_int(codes + j * kQuad);
#pragma GCC unroll 8
        for (int i = 0; i < 2 * kQuad; ++i) {  // the first quad is in the low nibbles
          const auto number = V::pick(Book::kValues, V::shift_right(both, i % kQuad * 8 + i / kQuad * 4));
          V::store(out + (pair + i / kPair) * stride + i % kPair * kPanelColumns + j, V::mul(number, scale));
        }
      }
    }
  }
};

template <class E>
struct ExpandedLinear {
  using V = typename E::V;
  using Floats = FmaLinear<V, SplitWeights<V, float>, kNeverExpand>;
  using Step = MultiplyAdd<V, ExpandedWeights<V>, PackedX>;

  static void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
    static_assert(kBlockPairs / 2 % kNibblePairs == 0);
    const std::int64_t n_pairs = div_up(args.x.k, kPair);
    const TileRows rows = tile_rows(args.x.tiling, range.tile_begin);
    const std::int64_t together = panels_for<V>(static_cast<int>(rows.of(range.tile_begin)));
    for (std::int64_t panel = range.panel_begin; panel < range.panel_end; panel += together) {
      const std::int64_t n_panels = min_of(together, range.panel_end - panel);
      for (std::int64_t pair = 0; pair < n_pairs; pair += args.x.block_pairs) {
        const std::int64_t n = min_of(args.x.block_pairs, n_pairs - pair);
        for (std::int64_t p = 0; p < n_panels; ++p) {
          E::expand(args.weights + (panel + p) * args.panel_bytes, args.x.k, pair, n, scratch + p * kPairWeights,
                    n_panels * kPairWeights, scratch + kMaxPanels * kBlockPairs * kPairWeights);
        }
        multiply_tiles(args, range, rows, {panel, n_panels, pair, n}, scratch);
      }
    }
  }

 private:
  struct Part {
    std::int64_t panel, n_panels, pair, n_pairs;
  };

  static void multiply_tiles(const LinearArgs& args, const LinearRange& range, const TileRows& rows, const Part& part,
                             float* expanded) {
    const std::int64_t column = part.panel * kPanelColumns;
    const bool is_last = part.pair + part.n_pairs >= div_up(args.x.k, kPair);
    float* const out = args.out + column - args.out_panel * kPanelColumns;
    std::int64_t row = rows.first;
    for (std::int64_t tile = range.tile_begin; tile < range.tile_end; ++tile) {
      const std::int64_t n_rows = rows.of(tile);
      const std::int64_t x_offset = packed_offset(args.x, row, part.pair, Floats::kPackedPairBytes);
      float* const out_of_tile = out + (row - args.out_row) * args.out_stride;
      multiply_tile<Step>(n_rows, part.n_panels,
                          {.x = static_cast<const std::byte*>(args.x.data) + x_offset,
                           .weights = reinterpret_cast<const std::byte*>(expanded),
                           .panel_bytes = 0,  // the panels are one stream
                           .n_pairs = part.n_pairs,
                           .out = out_of_tile,
                           .out_stride = args.out_stride,
                           .n_columns = args.n - column,
                           .continues = part.pair > 0,
                           .bias = args.bias != nullptr && is_last ? args.bias + column : nullptr,
                           .ahead = nullptr,
                           .ahead_panel_bytes = 0,
                           .next_out = out_of_tile,
                           .n_ahead = 0,
                           .expanded = nullptr});
      row += n_rows;
    }
  }
};

template <class E>
constexpr LinearOps expanded_ops() {
  using L = ExpandedLinear<E>;
  return {.packed_row_bytes = [](std::int64_t k) { return div_up(k, kPair) * L::Floats::kPackedPairBytes; },
          .pack_columns = kPair,
          .tile_panels = panels_for<typename L::V>,
          .tiling = L::Floats::tiling,
          .pack = L::Floats::pack,
          .multiply = L::multiply};
}

}  // namespace
}  // namespace lathe::kernels
