// SPDX-License-Identifier: Apache-2.0
// Multiplies a tile of x in signed bytes with some panels of codes in the tile registers of AMX. Only for files compiled for
// AMX. Invariant: each group is summed exactly and then scaled in the order of multiply_coded_tile(), so the bits are the
// same.
#pragma once

#include "kernels/cpu/isa/tile_registers.h"
#include "kernels/cpu/isa/vec_avx512.h"
#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/coded_layout.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

/// out [rows, panels * 16] (+)= x * weights over blocks of activations. Panels beyond the columns of out are computed and
/// discarded.
struct AmxCodesArgs {
  const std::byte* x;     ///< [row][kActivationBlock] in the first block
  std::int64_t x_stride;  ///< stride from block to block
  const float* x_scales;  ///< scales of the rows in the first block
  std::int64_t x_scales_stride;
  const std::int32_t* starts;  ///< [group][x_scales_stride]: corrections for the middle of unsigned codes
  std::int64_t n_rows;
  const std::byte* weights;     ///< [panel][quad][16][4], signed or as stored in the matrix
  std::int64_t weights_stride;  ///< stride from panel to panel
  const float* scales;          ///< [panel][group][16]
  const float* offsets;         ///< [panel][group][16]
  std::int64_t scales_stride;   ///< stride from panel to panel
  std::int64_t n_blocks;
  float* out;
  std::int64_t out_stride;
  std::int64_t n_columns;     ///< remaining columns of out
  bool continues;             ///< adds to the contents of out
  const float* bias;          ///< added at the end; or null
  const std::byte* ahead;     ///< next codes of the first panel, prefetched into L2 meanwhile
  std::int64_t ahead_stride;  ///< stride from panel to panel
  std::int64_t n_ahead;       ///< cache lines of each panel that are prefetched per step
};

/// Form of the codes: signed around zero, or unsigned as stored. Unsigned codes need no copy, but more work per row.
enum class AmxCodes { around_zero, as_stored };

/// Divides the four sum tiles of a step among consecutive groups and panels.
template <int kGroup>
struct AmxStep {
  static constexpr int kGroups = kActivationBlock / kGroup;  ///< groups of a block
  static constexpr int kPanels = kSumTiles / kGroups;
  /// Bytes of k in one product.
  static constexpr int kBytes = kGroup < kTileRowBytes ? kGroup : kTileRowBytes;
  /// Panels of a call: at least two, so that the second reads x from L1.
  static constexpr int kPanelsOfCall = kPanels < 2 ? 2 : kPanels;
};

template <AmxCodes kCodes, int kSums, int kX, int kWeights>
[[gnu::always_inline]] inline void tile_dot() {
  if constexpr (kCodes == AmxCodes::as_stored) {
    tile_dot_unsigned<kSums, kX, kWeights>();
  } else {
    tile_dot_bytes<kSums, kX, kWeights>();
  }
}

/// Computes the sums of unit kUnit of a step in its own tile; x and weights are those of the unit's panel and group.
template <int kGroup, int kUnit, AmxCodes kCodes>
[[gnu::always_inline]] inline void multiply_unit(const std::byte* x, const std::byte* weights, std::int64_t stride) {
  using Step = AmxStep<kGroup>;
  constexpr int kX = kSumTiles + kUnit % 2, kWeights = kSumTiles + 2 + kUnit % 2;
  constexpr int kOtherX = kSumTiles + (kUnit + 1) % 2, kOtherWeights = kSumTiles + 2 + (kUnit + 1) % 2;
  constexpr int kOffset = kUnit % Step::kGroups * kGroup;
  const std::byte* const of_panel = weights + kUnit / Step::kGroups * stride;
  tile_load<kX, kOffset>(x, kActivationBlock);
  tile_load<kWeights, kOffset * kPanelColumns>(of_panel, kTileRowBytes);
  tile_zero<kUnit>();
  tile_dot<kCodes, kUnit, kX, kWeights>();
  if constexpr (kGroup > kTileRowBytes) {
    static_assert(kGroup == 2 * kTileRowBytes);
    tile_load<kOtherX, kOffset + kTileRowBytes>(x, kActivationBlock);
    tile_load<kOtherWeights, kOffset * kPanelColumns + kTileBytes>(of_panel, kTileRowBytes);
    tile_dot<kCodes, kUnit, kOtherX, kOtherWeights>();
  }
}

/// Scales and destination of the sums of a step.
struct AmxScales {
  const float* scales;         ///< scales of the step's first panel and group
  const float* offsets;        ///< offsets of the same group, or null
  std::int64_t stride;         ///< stride from panel to panel
  const float* x_scales;       ///< [row]
  const std::int32_t* starts;  ///< [group][row]
  float* sums;                 ///< [row][columns], beginning with the first panel
};

/// part [row] += the sums of unit kUnit, read from memory, times their scales. After the last group of a panel the panel's
/// sums += part times the scales of the rows.
template <int kGroup, int kUnit, AmxCodes kCodes, bool kHasZeros, int kColumns, int kRows>
[[gnu::always_inline]] inline void scale_unit(__m512 (&part)[kRows], const std::int32_t* products, const AmxScales& s) {
  using V = VecAvx512;
  constexpr int kGroups = AmxStep<kGroup>::kGroups, kPanel = kUnit / kGroups, kGroupOfPanel = kUnit % kGroups;
  const std::int64_t at = kPanel * s.stride + std::int64_t{kGroupOfPanel} * kPanelColumns;
  const __m512 scale = V::load(s.scales + at);
  if constexpr (kGroupOfPanel == 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) part[i] = V::zero();
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    __m512i product = _mm512_load_si512(products + i * kPanelColumns);
    if constexpr (kCodes == AmxCodes::as_stored) {
      product = V::add_int(product, V::set_int(s.starts[kGroupOfPanel * kTileRows + i]));
    }
    __m512 sum = V::to_float(product);
    // Integers below 2^24, as in multiply_coded_tile(), so the sum is exact.
    if constexpr (kHasZeros) {
      sum = V::fma(V::to_float(V::set_int(s.starts[kGroupOfPanel * kTileRows + i])), V::load(s.offsets + at), sum);
    }
    V::accumulate(part[i], sum, scale);
  }
  if constexpr (kGroupOfPanel + 1 == kGroups) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      float* const sum = s.sums + i * kColumns + kPanel * kPanelColumns;
      V::store(sum, V::fma(part[i], V::set(s.x_scales[i]), V::load(sum)));
    }
  }
}

/// Scales and starts of the rows of a tile, copied so that rows that do not exist can be broadcast too.
template <int kGroups, bool kHasStarts>
struct AmxRows {
  alignas(kTileRowBytes) float scales[kTileRows];
  alignas(kTileRowBytes) std::int32_t starts[kHasStarts ? kGroups * kTileRows : kTileRows];

  void read(const AmxCodesArgs& t, std::int64_t block) {
    using V = VecAvx512;
    V::store(scales, V::load_n(t.x_scales + block * t.x_scales_stride, t.n_rows));
    for (int g = 0; kHasStarts && g < kGroups; ++g) {
      const std::int32_t* const from = t.starts + (block * kGroups + g) * t.x_scales_stride;
      _mm512_store_si512(starts + g * kTileRows, _mm512_maskz_loadu_epi32(V::first(t.n_rows), from));
    }
  }
};

/// Scales the sums of one step while the products of the next run, so that the tile multiplier and the vector ports work in
/// parallel. Sums go through memory and are read two products later, when they have arrived: 16 rows in groups of 32 take
/// 15.5 ns per 16 columns, and 20 ns if a block's products precede its scaling (Granite Rapids).
template <int kGroup, int kRows, bool kHasZeros, AmxCodes kCodes>
[[gnu::noinline]] void multiply_amx_codes(const AmxCodesArgs& args) {
  using V = VecAvx512;
  using Step = AmxStep<kGroup>;
  constexpr int kColumns = Step::kPanelsOfCall * kPanelColumns;
  constexpr int kStepsOfBlock = Step::kPanelsOfCall / Step::kPanels;
  const AmxCodesArgs t = args;
  alignas(kTileRowBytes) std::int32_t products[kSumTiles][kTileRows * kPanelColumns] = {};
  alignas(kTileRowBytes) float sums[kRows][kColumns];
  AmxRows<Step::kGroups, kHasZeros || kCodes == AmxCodes::as_stored> rows{};
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; j += V::kLanes) {
      const std::int64_t n = t.continues && i < t.n_rows ? t.n_columns - j : 0;
      V::store(sums[i] + j, V::load_n(t.out + i * t.out_stride + j, n));
    }
  }
  tile_zero<2>();
  tile_zero<3>();
  tile_store<2>(products[0], kTileRowBytes);
  tile_store<2>(products[1], kTileRowBytes);
  const std::byte* ahead = t.ahead;
  std::int64_t block = 0, panel = 0;
  AmxScales s{.scales = t.scales,
              .offsets = t.offsets,
              .stride = t.scales_stride,
              .x_scales = rows.scales,
              .starts = rows.starts,
              .sums = sums[0]};
  // One step more than the work has: the first step scales zeros, and the products of the last are not used.
  for (std::int64_t left = t.n_blocks * kStepsOfBlock; left >= 0; --left) {
    const std::byte* const x = t.x + block * t.x_stride;
    const std::byte* const weights = t.weights + panel * t.weights_stride + block * kActivationBlock * kPanelColumns;
    __m512 part[kRows];
    for (std::int64_t line = 0; line < t.n_ahead; ++line, ahead += kCacheLine) {
      for (int p = 0; p < Step::kPanelsOfCall; ++p) __builtin_prefetch(ahead + p * t.ahead_stride, 0, 2);
    }
    tile_store<2, 2 * kTileBytes>(products, kTileRowBytes);
    multiply_unit<kGroup, 0, kCodes>(x, weights, t.weights_stride);
    scale_unit<kGroup, 0, kCodes, kHasZeros, kColumns>(part, products[0], s);
    tile_store<3, 3 * kTileBytes>(products, kTileRowBytes);
    multiply_unit<kGroup, 1, kCodes>(x, weights, t.weights_stride);
    scale_unit<kGroup, 1, kCodes, kHasZeros, kColumns>(part, products[1], s);
    tile_store<0, 0>(products, kTileRowBytes);
    multiply_unit<kGroup, 2, kCodes>(x, weights, t.weights_stride);
    scale_unit<kGroup, 2, kCodes, kHasZeros, kColumns>(part, products[2], s);
    tile_store<1, kTileBytes>(products, kTileRowBytes);
    multiply_unit<kGroup, 3, kCodes>(x, weights, t.weights_stride);
    scale_unit<kGroup, 3, kCodes, kHasZeros, kColumns>(part, products[3], s);
    if (panel == 0) rows.read(t, block);
    const std::int64_t at = panel * t.scales_stride + block * Step::kGroups * kPanelColumns;
    s.scales = t.scales + at;
    if constexpr (kHasZeros) s.offsets = t.offsets + at;
    s.sums = sums[0] + panel * kPanelColumns;
    if (left <= 1) continue;
    panel += Step::kPanels;
    if (panel == Step::kPanelsOfCall) {
      panel = 0;
      ++block;
    }
  }
  for (std::int64_t i = 0; i < t.n_rows; ++i) {
    for (int j = 0; j < kColumns; j += V::kLanes) {
      const std::int64_t n = t.n_columns - j;
      auto sum = V::load(sums[i] + j);
      if (t.bias != nullptr) sum = V::add(sum, V::load_n(t.bias + j, n));
      V::store_n(t.out + i * t.out_stride + j, sum, n);
    }
  }
}

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
