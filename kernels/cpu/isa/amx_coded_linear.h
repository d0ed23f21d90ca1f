// SPDX-License-Identifier: Apache-2.0
// linear() for coded weights with AMX: from kMinRows rows on with tile registers of bytes, below with vectors. Only for
// files compiled for AMX. Invariant: as in coded_linear.h, and the same bits as there.
#pragma once

#include "kernels/cpu/isa/amx_codes.h"
#include "kernels/cpu/ops/coded_linear.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

/// Layout of packed rows for tile registers: codes [block][row][kActivationBlock], then scales [block][row] f32, then starts
/// [block][group][row] i32. It takes as many bytes as the layout for vectors. With groups of 128 there are as many starts as
/// scales.
template <int kGroup>
struct AmxRowsLayout {
  static constexpr int kGroups = kActivationBlock / kGroup;
  std::byte* data;
  std::int64_t n_rows;
  std::int64_t n_blocks;
  explicit AmxRowsLayout(const PackedRows& packed)
      : data(static_cast<std::byte*>(packed.data)),
        n_rows(packed.tiling.n_rows),
        n_blocks(div_up(packed.k, kActivationBlock)) {}
  std::byte* codes(std::int64_t block, std::int64_t row) const { return data + (block * n_rows + row) * kActivationBlock; }
  float* scales(std::int64_t block, std::int64_t row) const {
    return reinterpret_cast<float*>(codes(n_blocks, 0)) + block * n_rows + row;
  }
  std::int32_t* starts(std::int64_t block, std::int64_t row) const {
    return reinterpret_cast<std::int32_t*>(scales(n_blocks, 0)) + block * kGroups * n_rows + row;
  }
};

/// Multiplies the same formats as CodedLinear.
template <class Vec, class C, class D, int kGroup, class S, class A>
struct AmxCodedLinear {
  using V = Vec;
  using Few = CodedLinear<Vec, C, D, kGroup, S, A>;
  using Step = AmxStep<kGroup>;
  static constexpr bool kPacksWholeRows = Few::kPacksWholeRows;
  static constexpr bool kHasZeros = __is_same(typename S::Scale, PairedF16);
  /// True if codes have 8 bits and can be multiplied as they are stored in the matrix.
  static constexpr bool kIsStoredAsBytes = __is_same(C, ByteCodes<V>);
  static constexpr bool kHasStarts = kHasZeros || kIsStoredAsBytes;
  /// Least number of row tiles for which codes are rewritten as bytes around zero: 16 rows take half as long without
  /// (Granite Rapids).
  static constexpr std::int64_t kMinTilesToWiden = 3;
  /// Least number of rows that are multiplied with tile registers: 8 streams generated 460 tokens/s with two tiles of
  /// vectors and 400 with one of bytes, 16 streams 700 with either, 32 streams 870 and 980 (Granite Rapids, 0.5b in groups
  /// of 32).
  static constexpr std::int64_t kMinRows = 13;

  static std::int64_t row_bytes(std::int64_t k) { return Few::row_bytes(k); }
  static int tile_panels(int n_rows) { return n_rows <= max_coded_rows<V>() ? coded_panels_for<V>(n_rows) : kMaxPanels; }
  static LinearTiling tiling(std::int64_t n_rows) {
    if (n_rows < kMinRows) return Few::tiling(n_rows);
    return {.rows = {.n_rows = n_rows, .n_tiles = div_up(n_rows, kTileRows)}, .block_pairs = kActivationPairs};
  }

  /// Requires: args begin with a block; with the row if A rounds whole rows.
  static void pack(const PackedRows& packed, const PackArgs& args) {
    if (packed.tiling.n_rows < kMinRows) return Few::pack(packed, args);
    const std::int64_t first = first_row(packed.tiling, args.tile_begin);
    const std::int64_t end = first_row(packed.tiling, args.tile_end);
    const AmxRowsLayout<kGroup> layout(packed);
    const std::int64_t k_begin = 2 * args.pair_begin;
    const std::int64_t k_end = min_of(2 * args.pair_end, packed.k);
    for (std::int64_t row = first; row < end; ++row) {
      const float* const x = args.x + (row - first) * args.x_stride;
      const typename A::OfRow of_row = A::of_row(x, k_end - k_begin);
      for (std::int64_t k = k_begin; k < k_end; k += kActivationBlock) {
        pack_block(x + k - k_begin, min_of(k_end - k, kActivationBlock), of_row, layout, k / kActivationBlock, row);
      }
      if constexpr (A::kHasOutliers) A::collect(x, packed.k, Few::outliers_of(packed, row));
    }
  }

  static void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
    if (args.x.tiling.n_rows < kMinRows) return Few::multiply(args, range, scratch);
    const std::int64_t n_blocks = div_up(args.x.k, kActivationBlock);
    // Some tiles have one row less than the largest; they read one row after their own, whose results are discarded.
    const auto widest = static_cast<int>(div_up(args.x.tiling.n_rows, args.x.tiling.n_tiles));
    const TileSession session(widest, Step::kBytes, kSumTiles + 2);
    for (std::int64_t block = 0; block < n_blocks; block += kStretch) {
      for (std::int64_t panel = range.panel_begin; panel < range.panel_end; panel += Step::kPanelsOfCall) {
        const bool is_last = panel + Step::kPanelsOfCall >= range.panel_end;
        const std::int64_t next_block = is_last ? block + kStretch : block;
        const std::byte* const next_panel =
            args.weights + (is_last ? range.panel_begin : panel + Step::kPanelsOfCall) * args.panel_bytes;
        multiply_panels(args, range,
                        {.panel = panel,
                         .n_panels = min_of(Step::kPanelsOfCall, range.panel_end - panel),
                         .block = block,
                         .n_blocks = min_of(kStretch, n_blocks - block),
                         .next = next_block < n_blocks ? next_panel + next_block * kBlockBytes : args.next_weights},
                        scratch);
      }
    }
    if constexpr (A::kHasOutliers) Few::add_outliers(args, range);
  }

 private:
  /// Blocks of k that all tiles of a chunk take before the next stretch: signed codes of the panels of a call are 32 KB of
  /// L1.
  static constexpr std::int64_t kStretch = 16 / Step::kPanelsOfCall;
  static constexpr std::int64_t kPanelGroups = kStretch * Step::kGroups;
  static constexpr std::int64_t kBlockBytes = Few::kBlockBytes;
  static_assert(kStretch * kActivationBlock * kPanelColumns * Step::kPanelsOfCall <= kReadyBytes);
  static_assert((kHasZeros ? 2 : 1) * kPanelGroups * kPanelColumns * Step::kPanelsOfCall <= kScratchScales);

  struct Part {
    std::int64_t panel, n_panels, block, n_blocks;
    const std::byte* next;  ///< codes of the first panel of the next part, or null
  };

  static void pack_block(const float* x, std::int64_t n, const typename A::OfRow& of_row,
                         const AmxRowsLayout<kGroup>& layout, std::int64_t block, std::int64_t row) {
    const Rounding rounding = A::of_block(of_row, x, n);
    std::byte* const codes = layout.codes(block, row);
    round_block<V, A::kHasOutliers>(x, n, rounding.to_code, codes);
    *layout.scales(block, row) = rounding.scale;
    if constexpr (kHasStarts) {
      for (int g = 0; g < Step::kGroups; ++g) {
        std::int32_t sum = 0;
        for (int i = 0; i < kGroup; ++i) sum += static_cast<std::int8_t>(codes[g * kGroup + i]);
        layout.starts(block, row)[g * layout.n_rows] = -C::kMiddle * sum;
      }
    }
  }

  /// True if codes are multiplied as they are stored. Only for whole panels and blocks: nothing after their end may be read.
  static bool takes_as_stored(const LinearArgs& args, const LinearRange& range, const Part& part) {
    return kIsStoredAsBytes && range.tile_end - range.tile_begin < kMinTilesToWiden &&
           part.n_panels == Step::kPanelsOfCall && args.x.k % kActivationBlock == 0;
  }

  static void multiply_tile(const AmxCodesArgs& t, bool as_stored) {
    if constexpr (kIsStoredAsBytes) {
      if (as_stored) return multiply_amx_codes<kGroup, kTileRows, kHasZeros, AmxCodes::as_stored>(t);
    }
    multiply_amx_codes<kGroup, kTileRows, kHasZeros, AmxCodes::around_zero>(t);
  }

  static std::int64_t groups_of(std::int64_t k, const Part& part) {
    return min_of(part.n_blocks * Step::kGroups, Few::shape_of(k).n_groups() - part.block * Step::kGroups);
  }

  /// Writes the codes of a stretch as signed bytes around zero.
  static void widen_codes(const std::byte* panel, std::int64_t k, const Part& part, std::byte* codes) {
    const __m512i middle = _mm512_set1_epi8(static_cast<char>(C::kMiddle));
    const std::byte* from = panel + part.block * kBlockBytes;
    for (std::int64_t pair = 0; pair < groups_of(k, part) * kGroup / (2 * kQuad); ++pair, from += C::kPairBytes) {
      V::store_int(codes, _mm512_sub_epi8(C::template load<D, 0, 0>(from, 0), middle));
      V::store_int(codes + kTileRowBytes, _mm512_sub_epi8(C::template load<D, 1, 0>(from, 0), middle));
      codes += 2 * kTileRowBytes;
    }
  }

  /// Writes the scales of a stretch as floats, and zeros where a panel has no more groups.
  static void widen_scales(const std::byte* panel, std::int64_t k, const Part& part, float* scales, float* offsets) {
    const CodedPanel shape = Few::shape_of(k);
    const std::int64_t first_group = part.block * Step::kGroups;
    const std::int64_t n_groups = groups_of(k, part);
    if constexpr (S::kExpands) {
      S::template expand<V>(panel + shape.codes_bytes(), shape, first_group, n_groups, scales);
    } else {
      for (std::int64_t g = 0; g < n_groups; ++g) {
        const auto* const of_group = S::at(panel + shape.codes_bytes(), first_group + g);
        V::store(scales + g * kPanelColumns, V::load(of_group));
        if constexpr (kHasZeros) V::store(offsets + g * kPanelColumns, V::load(of_group + kPanelColumns));
      }
    }
    for (std::int64_t g = n_groups; g < part.n_blocks * Step::kGroups; ++g) {
      V::store(scales + g * kPanelColumns, V::zero());
      if constexpr (kHasZeros) V::store(offsets + g * kPanelColumns, V::zero());
    }
  }

  static void multiply_panels(const LinearArgs& args, const LinearRange& range, const Part& part, float* scratch) {
    auto* const codes = reinterpret_cast<std::byte*>(scratch);
    float* const scales = scratch + kReadyBytes / static_cast<std::int64_t>(sizeof(float));
    float* const offsets = scales + kPanelGroups * kPanelColumns * Step::kPanelsOfCall;
    constexpr std::int64_t kStride = kStretch * kActivationBlock * kPanelColumns;
    const bool as_stored = takes_as_stored(args, range, part);
    for (std::int64_t p = 0; p < part.n_panels; ++p) {
      const std::byte* const panel = args.weights + (part.panel + p) * args.panel_bytes;
      const std::int64_t at = p * kPanelGroups * kPanelColumns;
      if (!as_stored) widen_codes(panel, args.x.k, part, codes + p * kStride);
      widen_scales(panel, args.x.k, part, scales + at, offsets + at);
    }
    const AmxRowsLayout<kGroup> layout(args.x);
    const std::int64_t column = part.panel * kPanelColumns;
    const bool is_last = part.block + part.n_blocks == layout.n_blocks;
    AmxCodesArgs t{.x = nullptr,
                   .x_stride = layout.n_rows * kActivationBlock,
                   .x_scales = nullptr,
                   .x_scales_stride = layout.n_rows,
                   .starts = nullptr,
                   .n_rows = 0,
                   .weights = as_stored ? args.weights + part.panel * args.panel_bytes + part.block * kBlockBytes : codes,
                   .weights_stride = as_stored ? args.panel_bytes : kStride,
                   .scales = scales,
                   .offsets = offsets,
                   .scales_stride = kPanelGroups * kPanelColumns,
                   .n_blocks = part.n_blocks,
                   .out = nullptr,
                   .out_stride = args.out_stride,
                   .n_columns = min_of(args.n - column, part.n_panels * kPanelColumns),
                   .continues = part.block > 0,
                   .bias = args.bias != nullptr && is_last ? args.bias + column : nullptr,
                   .ahead = part.next,
                   .ahead_stride = args.panel_bytes,
                   .n_ahead = 0};
    // Each tile prefetches its share of the next codes; otherwise memory would be idle until those are widened.
    const std::int64_t n_steps = part.n_blocks * Step::kPanelsOfCall / Step::kPanels;
    const std::int64_t n_lines = part.n_blocks * kBlockBytes / kCacheLine;
    if (part.next != nullptr) t.n_ahead = div_up(n_lines, n_steps * (range.tile_end - range.tile_begin));
    for (std::int64_t tile = range.tile_begin; tile < range.tile_end; ++tile) {
      const std::int64_t row = first_row(args.x.tiling, tile);
      t.x = layout.codes(part.block, row);
      t.x_scales = layout.scales(part.block, row);
      if constexpr (kHasStarts) t.starts = layout.starts(part.block, row);
      t.n_rows = rows_of(args.x.tiling, tile);
      t.out = args.out + column + (row - args.out_row) * args.out_stride - args.out_panel * kPanelColumns;
      multiply_tile(t, as_stored);
      t.ahead += n_steps * t.n_ahead * kCacheLine;
    }
  }
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
