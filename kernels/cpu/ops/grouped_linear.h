// SPDX-License-Identifier: Apache-2.0
// linear() for weights in groups: activations become signed bytes with a scale for each row and block of k, and products are
// exact integers until they meet the scales. Invariant: as in linear.h, an output is one chain of additions, k ascending.
#pragma once

#include "kernels/cpu/ops/grouped_tile.h"
#include "kernels/cpu/ops/linear.h"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kActivationPairs = kActivationBlock / 2;
// Blocks of k that all tiles of a chunk take before the next: two panels of codes in 8 bits are 32 KB.
constexpr std::int64_t kStretchBlocks = 8;
// Tiles that make it worth while to widen codes of 4 bits once for all.
constexpr std::int64_t kMinTilesToWiden = 3;

// Blocks of nothing greater become zeros: 127 divided by less would be infinite.
constexpr float kSmallestActivation = 0x1p-100F;

/// Codes of one row of a block, and their scale.
template <class V>
float quantize_activations(const float* x, std::int64_t n, std::int8_t (&codes)[kActivationBlock]) {
  auto largest = V::zero();
  auto poison = V::zero();  // not a number if one of x is none, or infinite
  for (std::int64_t i = 0; i < n; i += V::kLanes) {
    const auto value = V::load_n(x + i, n - i);
    largest = V::max(V::max(value, V::sub(V::zero(), value)), largest);
    poison = V::fma(value, V::zero(), poison);
  }
  if (V::sum(poison) != 0) {
    for (std::int8_t& code : codes) code = 0;
    return V::sum(poison);
  }
  const float magnitude = V::largest(largest);
  const auto to_code = V::set(magnitude > kSmallestActivation ? 127.0F / magnitude : 0);
  float rounded[kActivationBlock];
  for (std::int64_t i = 0; i < kActivationBlock; i += V::kLanes) {
    V::store(rounded + i, V::round(V::mul(V::load_n(x + i, n - i), to_code)));
  }
  for (int i = 0; i < kActivationBlock; ++i) codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(rounded[i]));
  return magnitude / 127;
}

/// Up to four panels for one row, fewer the more rows: sums of a group and of a block lie in registers.
template <class V>
constexpr int grouped_panels_for(int n_rows) {
  constexpr int kSums = V::kRegisters == 32 ? 12 : 8;
  const int fitting = kSums / (n_rows * (V::kLanes > 4 ? kPanelColumns / V::kLanes : 4));
  return fitting < 1 ? 1 : fitting > kMaxPanels ? kMaxPanels : fitting;
}

template <class V>
constexpr int max_grouped_rows() {
  return V::kRegisters == 32 ? 6 : 4;
}

using GroupedTileFunction = void (*)(const GroupedTileArgs&);

template <class V, class C, class D>
struct GroupedTileTable {
  GroupedTileFunction functions[max_grouped_rows<V>()][kMaxPanels];

  template <int kRows, int kPanels>
  static constexpr GroupedTileFunction function() {
    if constexpr (kPanels <= grouped_panels_for<V>(kRows)) {
      return multiply_grouped_tile<V, C, D, kRows, kPanels>;
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

template <class V, class C, class D>
constexpr GroupedTileTable<V, C, D> make_grouped_tiles() {
  GroupedTileTable<V, C, D> table{};
  table.template fill<max_grouped_rows<V>()>();
  return table;
}

template <class V, class C, class D>
constexpr GroupedTileTable<V, C, D> kGroupedTiles = make_grouped_tiles<V, C, D>();

/// Codes of kBits in groups of kGroup, multiplied by D.
template <class Vec, class C, class D, int kGroup>
struct GroupedLinear {
  using V = Vec;
  static constexpr int kMiddle = 1 << (C::kBits - 1);
  static constexpr std::int64_t kRowBytes = grouped_row_bytes(kGroup, D::kQuadBytes);

  static std::int64_t row_bytes(std::int64_t k) { return div_up(k, kActivationBlock) * kRowBytes; }

  static LinearTiling tiling(std::int64_t n_rows) {
    return {.rows = {.n_rows = n_rows, .n_tiles = div_up(n_rows, max_grouped_rows<V>())}, .block_pairs = kActivationPairs};
  }

  static std::byte* tile_at(const PackedRows& packed, std::int64_t block, std::int64_t tile) {
    return static_cast<std::byte*>(packed.data) +
           (block * packed.tiling.n_rows + first_row(packed.tiling, tile)) * kRowBytes;
  }

  /// Requires: args begin with a block.
  static void pack(const PackedRows& packed, const PackArgs& args) {
    const std::int64_t first = first_row(packed.tiling, args.tile_begin);
    const std::int64_t k_begin = 2 * args.pair_begin;
    const std::int64_t k_end = min_of(2 * args.pair_end, packed.k);
    for (std::int64_t tile = args.tile_begin; tile < args.tile_end; ++tile) {
      const std::int64_t n_rows = rows_of(packed.tiling, tile);
      const float* x = args.x + (first_row(packed.tiling, tile) - first) * args.x_stride;
      for (std::int64_t k = k_begin; k < k_end; k += kActivationBlock) {
        std::byte* const out = tile_at(packed, k / kActivationBlock, tile);
        for (std::int64_t r = 0; r < n_rows; ++r) {
          pack_row(x + r * args.x_stride + k - k_begin, min_of(k_end - k, kActivationBlock), out, n_rows, r);
        }
      }
    }
  }

  static void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
    const std::int64_t n_tiles = range.tile_end - range.tile_begin;
    const std::int64_t n_blocks = div_up(args.x.k, kActivationBlock);
    const std::int64_t stretch = n_tiles == 1 ? n_blocks : kStretchBlocks;
    const auto widest = static_cast<int>(rows_of(args.x.tiling, range.tile_begin));
    const std::int64_t together = grouped_panels_for<V>(widest);
    for (std::int64_t block = 0; block < n_blocks; block += stretch) {
      for (std::int64_t panel = range.panel_begin; panel < range.panel_end; panel += together) {
        multiply_panels(args, range, {panel, min_of(together, range.panel_end - panel)}, block,
                        min_of(stretch, n_blocks - block), scratch);
      }
    }
  }

 private:
  struct Panels {
    std::int64_t first, n;
  };

  static void pack_row(const float* x, std::int64_t n, std::byte* tile, std::int64_t n_rows, std::int64_t row) {
    constexpr int kGroups = kActivationBlock / kGroup;
    std::int8_t codes[kActivationBlock];
    auto* const scales = reinterpret_cast<float*>(tile);
    scales[row] = quantize_activations<V>(x, n, codes);
    auto* const starts = reinterpret_cast<std::int32_t*>(scales + n_rows);
    for (int g = 0; g < kGroups; ++g) {
      std::int32_t sum = 0;
      for (int i = 0; i < kGroup; ++i) sum += codes[g * kGroup + i];
      starts[g * n_rows + row] = -kMiddle * sum;
    }
    auto* out = reinterpret_cast<std::byte*>(starts + kGroups * n_rows) + row * D::kQuadBytes;
    for (int i = 0; i < kActivationBlock; i += kQuad) {
      D::keep(codes + i, out);
      out += n_rows * D::kQuadBytes;
    }
  }

  static void multiply_panels(const LinearArgs& args, const LinearRange& range, const Panels& panels, std::int64_t block,
                              std::int64_t n_blocks, float* scratch) {
    static_assert(kStretchBlocks * kActivationBlock * kPanelColumns * kMaxPanels <= kLinearScratchFloats * 4);
    const GroupedPanel shape{.k = args.x.k, .bits = C::kBits, .group = kGroup};
    const std::int64_t column = panels.first * kPanelColumns;
    const std::int64_t first_group = block * (kActivationBlock / kGroup);
    const std::int64_t end_group = min_of((block + n_blocks) * (kActivationBlock / kGroup), shape.n_groups());
    const std::byte* const panel = args.weights + panels.first * args.panel_bytes;
    GroupedTileArgs t{.x = nullptr,
                      .x_block_bytes = args.x.tiling.n_rows * kRowBytes,
                      .codes = panel + first_group * kGroup * kPanelColumns * C::kBits / 8,
                      .codes_stride = args.panel_bytes,
                      .scales = reinterpret_cast<const F16*>(panel + shape.codes_bytes()) + first_group * kPanelColumns,
                      .scales_stride = args.panel_bytes / 2,
                      .n_groups = end_group - first_group,
                      .group = kGroup,
                      .out = args.out + column - args.out_panel * kPanelColumns,
                      .out_stride = args.out_stride,
                      .n_columns = args.n - column,
                      .continues = block > 0,
                      .bias = args.bias != nullptr && end_group == shape.n_groups() ? args.bias + column : nullptr};
    if constexpr (C::kBits == 4 && D::kPairsToFold == 0) {
      if (range.tile_end - range.tile_begin >= kMinTilesToWiden) {
        const std::int64_t n_pairs = t.n_groups * kGroup / (2 * kQuad);
        t.codes = widen(t.codes, args.panel_bytes, panels.n, n_pairs, reinterpret_cast<std::byte*>(scratch));
        t.codes_stride = n_pairs * ByteCodes<V>::kPairBytes;
        return multiply_tiles<ByteCodes<V>>(args, range, panels.n, block, t);
      }
    }
    multiply_tiles<C>(args, range, panels.n, block, t);
  }

  static const std::byte* widen(const std::byte* codes, std::int64_t codes_stride, std::int64_t n_panels,
                                std::int64_t n_pairs, std::byte* out) {
    const std::byte* const begin = out;
    for (std::int64_t p = 0; p < n_panels; ++p) {
      for (std::int64_t pair = 0; pair < n_pairs; ++pair) {
#pragma GCC unroll 16
        for (int j = 0; j < kPanelColumns / V::kLanes; ++j) {
          const std::byte* const at = codes + p * codes_stride + pair * C::kPairBytes;
          V::store_int(out + j * V::kLanes * kQuad, C::template load<0>(at, j));
          V::store_int(out + (kPanelColumns + j * V::kLanes) * kQuad, C::template load<1>(at, j));
        }
        out += ByteCodes<V>::kPairBytes;
      }
    }
    return begin;
  }

  template <class Codes>
  static void multiply_tiles(const LinearArgs& args, const LinearRange& range, std::int64_t n_panels, std::int64_t block,
                             GroupedTileArgs t) {
    float* const out = t.out;
    for (std::int64_t tile = range.tile_begin; tile < range.tile_end; ++tile) {
      t.x = tile_at(args.x, block, tile);
      t.out = out + (first_row(args.x.tiling, tile) - args.out_row) * args.out_stride;
      kGroupedTiles<V, Codes, D>.functions[rows_of(args.x.tiling, tile) - 1][n_panels - 1](t);
    }
  }
};

template <class L>
constexpr LinearOps grouped_ops() {
  return {.packed_row_bytes = L::row_bytes,
          .pack_columns = kActivationBlock,
          .tile_panels = grouped_panels_for<typename L::V>,
          .tiling = L::tiling,
          .pack = L::pack,
          .multiply = L::multiply};
}

}  // namespace
}  // namespace lathe::kernels
