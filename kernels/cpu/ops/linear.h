// SPDX-License-Identifier: Apache-2.0
// linear(): rows of x through panels of packed weights, for any number of rows.
// Invariant: each output is one chain of additions, k ascending, whatever tile it falls in; blocks of k continue the chain
// through the output. So all forms (GEMV, small M, GEMM) give bitwise the same row.
#pragma once

#include "kernels/cpu/ops/tile.h"

namespace lathe::kernels {
namespace {

// From so many tiles on, a block of 16-bit weights is widened to f32 once (it then stays in L1) instead of in every tile.
// Ice Lake, 0.5b shapes: see tests/bench/kernels.
constexpr std::int64_t kMinTilesToExpand = 3;

/// Weights as they lie in memory go through Direct; if Expanded differs, many tiles share an f32 copy of a block.
template <class Vec, class Weights>
struct FmaLinear {
  using V = Vec;
  using W = Weights;
  using Direct = MultiplyAdd<V, W, PackedX>;
  using F32 = SplitWeights<V, float>;
  using Expanded = MultiplyAdd<V, F32, PackedX>;
  static constexpr int kPackedPairBytes = 2 * sizeof(float);
  static constexpr bool kMayExpand = Direct::kPairBytes != Expanded::kPairBytes;

  static void pack_x(const LinearArgs& args, std::int64_t tile_begin, std::int64_t tile_end);
  static void expand(const std::byte* panel, std::int64_t n_pairs, float* out) {
    for (std::int64_t pair = 0; pair < n_pairs; ++pair) {
      for (int j = 0; j < kPanelColumns / V::kLanes; ++j) {
        V::store(out + j * V::kLanes, W::template load<0>(panel, j));
        V::store(out + kPanelColumns + j * V::kLanes, W::template load<1>(panel, j));
      }
      panel += W::kPairBytes;
      out += kPairWeights;
    }
  }
};

template <class V, class W>
void FmaLinear<V, W>::pack_x(const LinearArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const std::int64_t n_packed = 2 * div_up(args.k, 2);
  for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::int64_t row = first_row(args.tiling, tile);
    const std::int64_t n_rows = rows_of(args.tiling, tile);
    const float* x = args.x + row * args.x_stride;
    float* out = static_cast<float*>(args.packed_x) + row * n_packed;
    for (std::int64_t i = 0; i < args.k; ++i) {
      for (std::int64_t r = 0; r < n_rows; ++r) out[i * n_rows + r] = x[r * args.x_stride + i];
    }
    for (std::int64_t r = 0; args.k < n_packed && r < n_rows; ++r) out[args.k * n_rows + r] = 0;
  }
}

/// All tiles of rows over one block of k of some panels.
template <class L>
void multiply_block(const LinearArgs& args, TileArgs t, std::int64_t n_panels, std::int64_t first_pair, bool is_expanded) {
  const std::int64_t all_pairs = div_up(args.k, 2);
  float* const out = t.out;
  for (std::int64_t tile = 0; tile < args.tiling.n_tiles; ++tile) {
    const std::int64_t row = first_row(args.tiling, tile);
    const std::int64_t n_rows = rows_of(args.tiling, tile);
    t.x = static_cast<const std::byte*>(args.packed_x) + (row * all_pairs + n_rows * first_pair) * L::kPackedPairBytes;
    t.out = out + row * args.out_stride;
    if constexpr (L::kMayExpand) {
      if (is_expanded) {
        multiply_tile<typename L::Expanded>(n_rows, n_panels, t);
        continue;
      }
    }
    multiply_tile<typename L::Direct>(n_rows, n_panels, t);
  }
}

template <class L>
void multiply(const LinearArgs& args, std::int64_t panel_begin, std::int64_t panel_end, float* scratch) {
  const std::int64_t all_pairs = div_up(args.k, 2);
  const std::int64_t block = args.tiling.n_tiles == 1 ? all_pairs : kBlockPairs;
  const std::int64_t group = panels_for<typename L::V>(static_cast<int>(rows_of(args.tiling, 0)));
  const bool expands = L::kMayExpand && args.tiling.n_tiles >= kMinTilesToExpand;
  for (std::int64_t panel = panel_begin; panel < panel_end; panel += group) {
    const std::int64_t n_panels = min_of(group, panel_end - panel);
    const std::int64_t column = panel * kPanelColumns;
    for (std::int64_t pair = 0; pair < all_pairs; pair += block) {
      TileArgs t{.x = nullptr,
                 .weights = args.weights + panel * args.panel_bytes + pair * L::Direct::kPairBytes,
                 .panel_bytes = args.panel_bytes,
                 .n_pairs = min_of(block, all_pairs - pair),
                 .out = args.out + column,
                 .out_stride = args.out_stride,
                 .n_columns = args.n - column,
                 .continues = pair > 0,
                 .bias = args.bias != nullptr && pair + block >= all_pairs ? args.bias + column : nullptr};
      if constexpr (L::kMayExpand) {
        if (expands) {
          constexpr std::int64_t kFloats = std::int64_t{kBlockPairs} * kPairWeights;
          for (std::int64_t p = 0; p < n_panels; ++p) L::expand(t.weights + p * t.panel_bytes, t.n_pairs, scratch + p * kFloats);
          t.weights = reinterpret_cast<const std::byte*>(scratch);
          t.panel_bytes = kFloats * static_cast<std::int64_t>(sizeof(float));
        }
      }
      multiply_block<L>(args, t, n_panels, pair, expands);
    }
  }
}

template <class L>
constexpr LinearOps linear_ops() {
  return {.packed_pair_bytes = L::kPackedPairBytes, .pack_x = L::pack_x, .multiply = multiply<L>};
}

}  // namespace
}  // namespace lathe::kernels
