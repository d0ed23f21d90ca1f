// SPDX-License-Identifier: Apache-2.0
// linear() for coded weights: activations become signed bytes with a scale, and sums of a group are exact integers until
// they are scaled. Invariant: as in linear.h, an output is one chain of additions, k ascending; outliers follow.
#pragma once

#include "kernels/cpu/ops/activation_codes.h"
#include "kernels/cpu/ops/coded_scales.h"
#include "kernels/cpu/ops/coded_tile.h"
#include "kernels/cpu/ops/linear.h"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kActivationPairs = kActivationBlock / 2;
// Bytes of a column's codes, as they are multiplied, in a stretch, which several tiles take before the next: two panels are
// 32 KB. Up to two tiles take all of k in one stretch, so that memory is read in order: 7 % less time for 8 rows (Zen 5,
// AVX2).
constexpr std::int64_t kStretchBytes = 1024;
// Scratch for prepared codes (bytes), then for scales (floats).
constexpr std::int64_t kReadyBytes = kStretchBytes * kPanelColumns * kMaxPanels;
constexpr std::int64_t kScratchScales = kLinearScratchFloats - kReadyBytes / 4;
constexpr std::int64_t kMaxTilesOfWholeRows = 2;
// Least number of tiles for which codes are prepared once for all tiles. 2 (with stretches) and 5 are as fast (Zen 5, AVX2,
// 8 to 32 rows). Codes of all of k would not fit into the scratch.
constexpr std::int64_t kMinTilesToMakeReady = 3;
static_assert(kMinTilesToMakeReady > kMaxTilesOfWholeRows);

/// Panels of a tile: up to four for one row, fewer for more rows, so that the sums of a group and of a block stay in
/// registers.
template <class V>
constexpr int coded_panels_for(int n_rows) {
  constexpr int kSums = V::kLanes == 1 ? 8 : 12;
  const int fitting = kSums / (n_rows * (V::kLanes > 4 ? kPanelColumns / V::kLanes : 4));
  return fitting < 1 ? 1 : fitting > kMaxPanels ? kMaxPanels : fitting;
}

/// Most rows of a tile if there are several tiles. On AVX2 the sums of 6 rows by 16 columns take all registers but four: 2 %
/// faster than 4 rows if everything is in L1 (Zen 5).
template <class V>
constexpr int coded_rows_of_many() {
  return V::kLanes == 1 ? max_tile_rows<V>() : 6;
}

/// Most rows of a single tile: two tiles of 4 rows would read the codes twice, and one of 8 rows by one panel takes 22 %
/// less time in 8 bits and 8 % less in 4 bits (Zen 5). From 13 to 16 rows, three tiles by two panels are at least as fast as
/// two tiles of 8 rows.
template <class V>
constexpr int max_coded_rows() {
  return V::kRegisters == 32 ? 8 : coded_rows_of_many<V>();
}

template <class V, class C, class D, class Scale>
struct CodedTileTable {
  using Function = void (*)(const CodedTileArgs<Scale>&);
  Function functions[max_coded_rows<V>()][kMaxPanels];

  template <int kRows, int kPanels>
  static constexpr Function function() {
    if constexpr (kPanels <= coded_panels_for<V>(kRows)) {
      return multiply_coded_tile<V, C, D, Scale, kRows, kPanels>;
    } else {
      return nullptr;
    }
  }
  template <int kRows>
  constexpr void fill() {
    functions[kRows - 1][0] = function<kRows, 1>();
    functions[kRows - 1][1] = function<kRows, 2>();
    functions[kRows - 1][2] = function<kRows, 3>();
    functions[kRows - 1][3] = function<kRows, 4>();
    if constexpr (kRows > 1) fill<kRows - 1>();
  }
};

template <class V, class C, class D, class Scale>
constexpr CodedTileTable<V, C, D, Scale> make_coded_tiles() {
  CodedTileTable<V, C, D, Scale> table{};
  table.template fill<max_coded_rows<V>()>();
  return table;
}

template <class V, class C, class D, class Scale>
constexpr CodedTileTable<V, C, D, Scale> kCodedTiles = make_coded_tiles<V, C, D, Scale>();

/// Codes C in groups of kGroup with scales S, multiplied by dot products D with activations that are rounded by A.
template <class Vec, class C, class D, int kGroup, class S, class A>
struct CodedLinear {
  using V = Vec;
  static constexpr std::int64_t kRowBytes = coded_row_bytes(kGroup, D::kQuadBytes);
  static constexpr bool kPacksWholeRows = A::kWholeRows;
  /// Bytes of the codes of a panel in a block.
  static constexpr std::int64_t kBlockBytes = kActivationBlock * kPanelColumns * C::kBits / 8;
  static constexpr std::int64_t kStretchBlocks = kStretchBytes / D::kParts / kActivationBlock;

  static std::int64_t row_bytes(std::int64_t k) {
    return div_up(k, kActivationBlock) * kRowBytes + (A::kHasOutliers ? outliers_bytes(k) : 0);
  }

  static LinearTiling tiling(std::int64_t n_rows) {
    const std::int64_t n_tiles = n_rows <= max_coded_rows<V>() ? 1 : div_up(n_rows, coded_rows_of_many<V>());
    return {.rows = {.n_rows = n_rows, .n_tiles = n_tiles}, .block_pairs = kActivationPairs};
  }

  /// Requires: args begin with a block; with the row if A rounds whole rows.
  static void pack(const PackedRows& packed, const PackArgs& args) {
    const std::int64_t first = first_row(packed.tiling, args.tile_begin);
    const std::int64_t k_begin = 2 * args.pair_begin;
    const std::int64_t k_end = min_of(2 * args.pair_end, packed.k);
    for (std::int64_t tile = args.tile_begin; tile < args.tile_end; ++tile) {
      const std::int64_t n_rows = rows_of(packed.tiling, tile);
      const float* x = args.x + (first_row(packed.tiling, tile) - first) * args.x_stride;
      typename A::OfRow of_row[max_coded_rows<V>()];
      for (std::int64_t r = 0; r < n_rows; ++r) of_row[r] = A::of_row(x + r * args.x_stride, k_end - k_begin);
      for (std::int64_t k = k_begin; k < k_end; k += kActivationBlock) {
        std::byte* const out = tile_at(packed, k / kActivationBlock, tile);
        const std::int64_t n = min_of(k_end - k, kActivationBlock);
        pack_block(x + k - k_begin, args.x_stride, n, n_rows, of_row, out);
      }
      if constexpr (A::kHasOutliers) {
        for (std::int64_t r = 0; r < n_rows; ++r) {
          A::collect(x + r * args.x_stride, packed.k, outliers_of(packed, first_row(packed.tiling, tile) + r));
        }
      }
    }
  }

  static int tile_panels(int n_rows) { return coded_panels_for<V>(n_rows); }

  static void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
    const std::int64_t n_tiles = range.tile_end - range.tile_begin;
    const std::int64_t n_blocks = div_up(args.x.k, kActivationBlock);
    const std::int64_t stretch = n_tiles <= kMaxTilesOfWholeRows && !S::kExpands ? n_blocks : kStretchBlocks;
    const auto widest = static_cast<int>(rows_of(args.x.tiling, range.tile_begin));
    const std::int64_t together = coded_panels_for<V>(widest);
    const bool streams_alone = args.streams_alone && C::kBits >= 8;
    const auto panel_at = [&](std::int64_t panel) { return args.weights + panel * args.panel_bytes; };
    for (std::int64_t block = 0; block < n_blocks; block += stretch) {
      for (std::int64_t panel = range.panel_begin; panel < range.panel_end; panel += together) {
        const Place next = streams_alone                        ? Place{nullptr, 0}
                           : panel + together < range.panel_end ? Place{panel_at(panel + together), block}
                           : block + stretch < n_blocks         ? Place{panel_at(range.panel_begin), block + stretch}
                                                                : Place{args.next_weights, 0};
        multiply_panels(args, range, {panel, min_of(together, range.panel_end - panel)}, block,
                        min_of(stretch, n_blocks - block), next, scratch);
      }
    }
    if constexpr (A::kHasOutliers) add_outliers(args, range);
  }

  /// Address of the outliers of a row, after the packed rows.
  static Outliers* outliers_of(const PackedRows& packed, std::int64_t row) {
    std::byte* const first =
        static_cast<std::byte*>(packed.data) + div_up(packed.k, kActivationBlock) * packed.tiling.n_rows * kRowBytes;
    return reinterpret_cast<Outliers*>(first + row * outliers_bytes(packed.k));
  }

  static CodedPanel shape_of(std::int64_t k) { return {.k = k, .bits = C::kBits, .group = kGroup, .scales = S::kLayout}; }

  /// Adds the products of outliers, which the products of codes leave out: each row its own, k ascending.
  static void add_outliers(const LinearArgs& args, const LinearRange& range) {
    for (std::int64_t row = first_row(args.x.tiling, range.tile_begin); row < first_row(args.x.tiling, range.tile_end);
         ++row) {
      const Outliers& outliers = *outliers_of(args.x, row);
      if (outliers.n == 0) continue;
      for (std::int64_t panel = range.panel_begin; panel < range.panel_end; ++panel) {
        float* const out = args.out + (row - args.out_row) * args.out_stride + (panel - args.out_panel) * kPanelColumns;
        add_outliers(args.weights + panel * args.panel_bytes, shape_of(args.x.k), outliers, out,
                     args.n - panel * kPanelColumns);
      }
    }
  }

 private:
  using Ready = typename ReadyCodes<V, D::kParts>::Type;
  struct Panels {
    std::int64_t first, n;
  };
  struct Place {
    const std::byte* panel;  ///< or null
    std::int64_t block;
  };

  static std::byte* tile_at(const PackedRows& packed, std::int64_t block, std::int64_t tile) {
    return static_cast<std::byte*>(packed.data) +
           (block * packed.tiling.n_rows + first_row(packed.tiling, tile)) * kRowBytes;
  }

  /// Packs one block of the rows of a tile; rows are `stride` floats apart.
  static void pack_block(const float* x, std::int64_t stride, std::int64_t n, std::int64_t n_rows,
                         const typename A::OfRow* of_row, std::byte* tile) {
    constexpr int kGroups = kActivationBlock / kGroup;
    auto* const scales = reinterpret_cast<float*>(tile);
    auto* const starts = reinterpret_cast<std::int32_t*>(scales + n_rows);
    float quads[max_coded_rows<V>()][kBlockQuads];
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const Rounding rounding = A::of_block(of_row[row], x + row * stride, n);
      auto* const codes = reinterpret_cast<std::byte*>(quads[row]);
      round_block<V, A::kHasOutliers>(x + row * stride, n, rounding.to_code, codes);
      scales[row] = rounding.scale;
      for (int g = 0; g < kGroups; ++g) {
        std::int32_t sum = 0;
        for (int i = 0; i < kGroup; ++i) sum += static_cast<std::int8_t>(codes[g * kGroup + i]);
        starts[g * n_rows + row] = -C::kMiddle * sum;
      }
    }
    D::keep(quads[0], n_rows, reinterpret_cast<std::byte*>(starts + kGroups * n_rows));
  }

  static void multiply_panels(const LinearArgs& args, const LinearRange& range, const Panels& panels, std::int64_t block,
                              std::int64_t n_blocks, const Place& next, float* scratch) {
    static_assert(!S::kExpands || kStretchBlocks * kActivationBlock / kGroup * kPanelColumns * kMaxPanels <= kScratchScales);
    const CodedPanel shape = shape_of(args.x.k);
    const std::int64_t column = panels.first * kPanelColumns;
    const std::int64_t first_group = block * (kActivationBlock / kGroup);
    const std::int64_t end_group = min_of((block + n_blocks) * (kActivationBlock / kGroup), shape.n_groups());
    const std::byte* const panel = args.weights + panels.first * args.panel_bytes;
    CodedTileArgs<typename S::Scale> t{
        .x = nullptr,
        .x_block_bytes = args.x.tiling.n_rows * kRowBytes,
        .codes = panel + first_group * kGroup * kPanelColumns * C::kBits / 8,
        .codes_stride = args.panel_bytes,
        .scales = S::at(panel + shape.codes_bytes(), first_group),
        .scales_stride = args.panel_bytes / static_cast<std::int64_t>(sizeof(typename S::Scale)),
        .scales_step = S::kStep,
        .n_groups = end_group - first_group,
        .group = kGroup,
        .out = args.out + column - args.out_panel * kPanelColumns,
        .out_stride = args.out_stride,
        .n_columns = args.n - column,
        .continues = block > 0,
        .bias = args.bias != nullptr && end_group == shape.n_groups() ? args.bias + column : nullptr,
        .ahead = {.from = next.panel, .stride = args.panel_bytes, .n_lines = 0, .per_group = 0, .scales = nullptr}};
    if (next.panel != nullptr) t.ahead.from += next.block * kBlockBytes;
    if constexpr (S::kExpands) {
      t.scales = scratch + kReadyBytes / static_cast<std::int64_t>(sizeof(float));
      t.scales_stride = t.n_groups * kPanelColumns;
      for (std::int64_t p = 0; p < panels.n; ++p) {
        S::template expand<V>(panel + p * args.panel_bytes + shape.codes_bytes(), shape, first_group, t.n_groups,
                              scratch + kReadyBytes / static_cast<std::int64_t>(sizeof(float)) + p * t.scales_stride);
      }
    }
    if constexpr (Ready::kPairBytes > C::kPairBytes) {
      static_assert(kStretchBlocks * kActivationBlock / (2 * kQuad) * Ready::kPairBytes * kMaxPanels <= kReadyBytes);
      if (range.tile_end - range.tile_begin >= kMinTilesToMakeReady) {
        const std::int64_t n_pairs = t.n_groups * kGroup / (2 * kQuad);
        t.codes = make_ready(t.codes, args.panel_bytes, panels.n, n_pairs, reinterpret_cast<std::byte*>(scratch));
        t.codes_stride = n_pairs * Ready::kPairBytes;
        return multiply_tiles<Ready>(args, range, panels.n, block, next, t);
      }
    }
    multiply_tiles<C>(args, range, panels.n, block, next, t);
  }

  static const std::byte* make_ready(const std::byte* codes, std::int64_t codes_stride, std::int64_t n_panels,
                                     std::int64_t n_pairs, std::byte* out) {
    const std::byte* const begin = out;
    for (std::int64_t p = 0; p < n_panels; ++p) {
      for (std::int64_t pair = 0; pair < n_pairs; ++pair, out += Ready::kPairBytes) {
        const std::byte* const at = codes + p * codes_stride + pair * C::kPairBytes;
#pragma GCC unroll 16
        for (int j = 0; j < kPanelColumns / V::kLanes; ++j) {
          // [quad of the pair][part][16 columns][4 bytes]
          const auto place = [&](int quad, int part) {
            return out + ((quad * D::kParts + part) * kPanelColumns + j * V::kLanes) * kQuad;
          };
          V::store_int(place(0, 0), C::template load<D, 0, 0>(at, j));
          V::store_int(place(1, 0), C::template load<D, 1, 0>(at, j));
          if constexpr (D::kParts == 2) {
            V::store_int(place(0, 1), C::template load<D, 0, 1>(at, j));
            V::store_int(place(1, 1), C::template load<D, 1, 1>(at, j));
          }
        }
      }
    }
    return begin;
  }

  template <class Codes>
  static void multiply_tiles(const LinearArgs& args, const LinearRange& range, std::int64_t n_panels, std::int64_t block,
                             const Place& next, CodedTileArgs<typename S::Scale> t) {
    float* const out = t.out;
    // Each tile prefetches its share of the next codes; otherwise memory would be idle while all tiles but the first find
    // their codes in L1.
    std::int64_t lines_left =
        t.ahead.from == nullptr ? 0 : t.n_groups * kGroup * kBlockBytes / kActivationBlock / kCacheLine;
    const std::int64_t share = div_up(lines_left, range.tile_end - range.tile_begin);
    t.ahead.per_group = div_up(share, t.n_groups);
    for (std::int64_t tile = range.tile_begin; tile < range.tile_end; ++tile) {
      t.ahead.n_lines = min_of(share, lines_left);
      lines_left -= t.ahead.n_lines;
      if (!S::kExpands && next.panel != nullptr && tile + 1 == range.tile_end) {
        const std::byte* const scales = next.panel + shape_of(args.x.k).codes_bytes();
        t.ahead.scales = reinterpret_cast<const std::byte*>(S::at(scales, next.block * (kActivationBlock / kGroup)));
      }
      t.x = tile_at(args.x, block, tile);
      t.out = out + (first_row(args.x.tiling, tile) - args.out_row) * args.out_stride;
      kCodedTiles<V, Codes, D, typename S::Scale>.functions[rows_of(args.x.tiling, tile) - 1][n_panels - 1](t);
      t.ahead.from += t.ahead.n_lines * kCacheLine;
    }
  }

  static void add_outliers(const std::byte* panel, const CodedPanel& shape, const Outliers& outliers, float* out,
                           std::int64_t n_columns) {
    const auto middle = V::set(C::kMiddle);
    for (int j = 0; j < kPanelColumns / V::kLanes; ++j) {
      auto sum = V::zero();
      for (std::int64_t i = 0; i < outliers.n; ++i) {
        const std::int64_t k = outliers.list[i].k;
        const auto codes = V::load_int(panel + k / kQuad * kPanelColumns * kQuad + j * V::kLanes * kQuad);
        sum = V::fma(V::sub(V::byte_to_float(codes, k % kQuad), middle), V::set(outliers.list[i].x), sum);
      }
      const auto scale = V::load(S::at(panel + shape.codes_bytes(), 0) + j * V::kLanes);
      const std::int64_t n = n_columns - j * V::kLanes;
      V::store_n(out + j * V::kLanes, V::fma(sum, scale, V::load_n(out + j * V::kLanes, n)), n);
    }
  }
};

template <class L>
constexpr LinearOps coded_ops() {
  return {.packed_row_bytes = L::row_bytes,
          .pack_columns = L::kPacksWholeRows ? kWholeRows : kActivationBlock,
          .tile_panels = L::tile_panels,
          .tiling = L::tiling,
          .pack = L::pack,
          .multiply = L::multiply};
}

}  // namespace
}  // namespace lathe::kernels
