// SPDX-License-Identifier: Apache-2.0
// The tile: some rows of x times some panels of weights, with all sums in registers. All products are made of tiles.
#pragma once

#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {
namespace {

/// out [rows, columns] (+)= x * weights over n_pairs pairs of k.
struct TileArgs {
  const void* x;
  const std::byte* weights;  ///< weights of the first panel
  std::int64_t panel_bytes;  ///< stride from panel to panel
  std::int64_t n_pairs;
  float* out;
  std::int64_t out_stride;
  std::int64_t n_columns;  ///< remaining columns of out; at the right edge fewer than the panels have
  bool continues;          ///< adds to the contents of out
  const float* bias;       ///< added at the end; or null
  const std::byte* ahead;  ///< weights of the first panel to be prefetched into L1 meanwhile
  std::int64_t ahead_panel_bytes;
  const float* next_out;  ///< output rows of the next tile, prefetched into L1
  std::int64_t n_ahead;   ///< cache lines of each panel to prefetch, one per pair of k: at most n_pairs
  float* expanded;        ///< output of an expanding step, in the layout of ExpandedWeights
  /// Scales of the first panel from the first pair on, if the weights have scales.
  const std::byte* scales = nullptr;
};

// ---- weights of one pair of k: at() finds them in a panel, load() gives vector j of the even or odd k
template <int kBytes>
struct PanelAfterPanel {
  static constexpr int kPairBytes = kBytes;
  static constexpr bool kIsScaled = false;
  template <int kPanels>
  static const std::byte* at(const TileArgs& t, std::int64_t pair, int panel) {
    return t.weights + panel * t.panel_bytes + pair * kBytes;
  }
};

template <class V, class T>
struct SplitWeights : PanelAfterPanel<static_cast<int>(sizeof(T)) * kPairWeights> {  // layout [2][16]: f32 and f16
  template <int kOdd>
  static typename V::Float load(const std::byte* pair, int j) {
    return V::load(reinterpret_cast<const T*>(pair) + kOdd * kPanelColumns + j * V::kLanes);
  }
};

/// Expanded weights of a block: [pair][panel][2][16] in f32, all panels of a tile in one stream.
template <class V>
struct ExpandedWeights : SplitWeights<V, float> {
  template <int kPanels>
  static const std::byte* at(const TileArgs& t, std::int64_t pair, int panel) {
    return t.weights + (pair * kPanels + panel) * SplitWeights<V, float>::kPairBytes;
  }
};

/// Weights with an f32 scale for each group of kGroup k; a panel's scales [group][16] follow its weights.
template <class V, class T, int kGroup>
struct ScaledWeights : SplitWeights<V, T> {
  static constexpr bool kIsScaled = true;
  static constexpr std::int64_t kGroupPairs = kGroup / 2;
  static constexpr std::int64_t kScaleBytes = kPanelColumns * sizeof(float);

  /// Scales of the group that begins with `pair`.
  static const std::byte* scales_at(const std::byte* panel, std::int64_t k, std::int64_t pair) {
    const std::int64_t n_groups = div_up(k, kGroup);
    return panel + n_groups * kGroupPairs * SplitWeights<V, T>::kPairBytes + pair / kGroupPairs * kScaleBytes;
  }
  static typename V::Float scale(const TileArgs& t, std::int64_t pair, int panel, int j) {
    const std::int64_t of_group = static_cast<std::int64_t>(static_cast<std::uint64_t>(pair) / kGroupPairs) * kScaleBytes;
    return V::load(reinterpret_cast<const float*>(t.scales + panel * t.panel_bytes + of_group) + j * V::kLanes);
  }
};

template <class V>
// Layout [16][2], for the dot product.
struct InterleavedBf16 : PanelAfterPanel<static_cast<int>(sizeof(Bf16)) * kPairWeights> {
  template <int kOdd>
  static typename V::Float load(const std::byte* pair, int j) {
    typename V::Float even;
    typename V::Float odd;
    V::load_pairs(reinterpret_cast<const Bf16*>(pair) + 2 * j * V::kLanes, even, odd);
    return kOdd != 0 ? odd : even;
  }
};

// ---- activations
struct PackedX {  // layout [k][row]
  template <int kRows>
  static const float* at(const void* x, std::int64_t pair, int odd, int row) {
    return static_cast<const float*>(x) + (2 * pair + odd) * kRows + row;
  }
};

template <int kStride>
struct StridedX {  // layout [row][kStride]
  template <int kRows>
  static const float* at(const void* x, std::int64_t pair, int odd, int row) {
    return static_cast<const float*>(x) + row * kStride + 2 * pair + odd;
  }
};

// ---- one pair of k: acc[row][vector] += x * w, even k before odd k
template <class Vec, class W, class X, bool kLeavesExpanded = false>
struct MultiplyAdd {
  using V = Vec;
  static constexpr int kPairBytes = W::kPairBytes;
  static constexpr bool kExpands = kLeavesExpanded;
  static constexpr bool kIsScaled = W::kIsScaled;

  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void step(typename V::Float (&acc)[kRows][kVectors], const TileArgs& t, std::int64_t pair) {
    half_step<0>(acc, t, pair);
    half_step<1>(acc, t, pair);
  }

 private:
  template <int kOdd, int kRows, int kVectors>
  [[gnu::always_inline]] static void half_step(typename V::Float (&acc)[kRows][kVectors], const TileArgs& t,
                                               std::int64_t pair) {
    constexpr int kPerPanel = kPanelColumns / V::kLanes;
    constexpr int kPanels = (kVectors + kPerPanel - 1) / kPerPanel;
    typename V::Float w[kVectors];
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      const int panel = j / kPerPanel;
      w[j] = W::template load<kOdd>(W::template at<kPanels>(t, pair, panel), j % kPerPanel);
      if constexpr (kIsScaled) w[j] = V::mul(w[j], W::scale(t, pair, panel, j % kPerPanel));
      if constexpr (kExpands) {
        V::store(t.expanded + ((pair * kPanels + panel) * 2 + kOdd) * kPanelColumns + j % kPerPanel * V::kLanes, w[j]);
      }
    }
#pragma GCC unroll 64
    for (int i = 0; i < kRows; ++i) {
      const auto x = V::set(*X::template at<kRows>(t.x, pair, kOdd, i));
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) V::accumulate(acc[i][j], x, w[j]);
    }
  }
};

template <class V, int kRows, int kVectors, class Lanes>
[[gnu::always_inline]] inline void load_tile(typename V::Float (&acc)[kRows][kVectors], const TileArgs& t,
                                             const Lanes& lanes) {
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) acc[i][j] = V::load_n(t.out + i * t.out_stride + j * V::kLanes, lanes(j));
  }
}

template <class V, int kRows, int kVectors, class Lanes>
[[gnu::always_inline]] inline void store_tile(typename V::Float (&acc)[kRows][kVectors], const TileArgs& t,
                                              const Lanes& lanes) {
  if (t.bias != nullptr) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      const auto bias = V::load_n(t.bias + j * V::kLanes, lanes(j));
#pragma GCC unroll 64
      for (int i = 0; i < kRows; ++i) acc[i][j] = V::add(acc[i][j], bias);
    }
  }
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) V::store_n(t.out + i * t.out_stride + j * V::kLanes, acc[i][j], lanes(j));
  }
}

/// Requires: all loops over acc are unrolled; otherwise gcc 12 keeps the accumulators in memory.
template <class Step, int kRows, int kPanels>
[[gnu::noinline]] void multiply_tile(const TileArgs& t) {
  using V = typename Step::V;
  constexpr int kVectors = kPanels * kPanelColumns / V::kLanes;
  const bool is_whole = t.n_columns >= kPanels * kPanelColumns;
  const auto all = [](int) { return AllLanes{}; };
  const auto some = [&t](int j) { return t.n_columns - j * V::kLanes; };
  typename V::Float acc[kRows][kVectors];
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) acc[i][j] = V::zero();
  }
  if (t.continues) {
    is_whole ? load_tile<V>(acc, t, all) : load_tile<V>(acc, t, some);
  }
  const TileArgs in_registers = t;
  // The loops are separate because a loop is limited by its loads, and many tiles prefetch next to nothing. The next outputs
  // are prefetched last, or the weights that pass through L1 would evict them. Ice Lake, AVX2: a prompt takes 2 to 4 % less
  // time.
  std::int64_t pair = 0;
  for (; pair < in_registers.n_ahead; ++pair) {
    Step::step(acc, in_registers, pair);
    for (int p = 0; p < kPanels; ++p) {
      __builtin_prefetch(in_registers.ahead + p * in_registers.ahead_panel_bytes + pair * kCacheLine, 0, 3);
    }
  }
  for (; pair < in_registers.n_pairs - kRows; ++pair) Step::step(acc, in_registers, pair);
  const float* next_out = in_registers.next_out;
  for (; pair < in_registers.n_pairs; ++pair) {
    Step::step(acc, in_registers, pair);
    for (int p = 0; p < kPanels; ++p) __builtin_prefetch(next_out + p * kPanelColumns, 1, 3);
    next_out += in_registers.out_stride;
  }
  is_whole ? store_tile<V>(acc, t, all) : store_tile<V>(acc, t, some);
}

// ---- the tile for a number of rows and panels known at run time
using TileFunction = void (*)(const TileArgs&);

/// Most panels of a tile: accumulators take three quarters of the registers, and more panels than kMaxPanels are no faster.
template <class V>
constexpr int panels_for(int n_rows) {
  const int fitting = V::kRegisters * 3 / 4 / (n_rows * (V::kLanes > 4 ? kPanelColumns / V::kLanes : 4));
  return fitting < 1 ? 1 : fitting > kMaxPanels ? kMaxPanels : fitting;
}

/// Most rows of a tile. Scalar tiles have two: each tile is hundreds of unrolled lines, and more rows only take longer to
/// compile.
template <class V>
constexpr int max_tile_rows() {
  return V::kLanes == 16 ? 8 : V::kLanes == 8 ? 6 : 2;
}

template <class Step, int kRows, int kPanels>
constexpr TileFunction tile_function() {
  if constexpr (kPanels <= panels_for<typename Step::V>(kRows)) {
    return multiply_tile<Step, kRows, kPanels>;
  } else {
    return nullptr;
  }
}

template <class Step>
struct TileTable {
  TileFunction functions[max_tile_rows<typename Step::V>()][kMaxPanels];

  template <int kRows>
  constexpr void fill() {
    functions[kRows - 1][0] = tile_function<Step, kRows, 1>();
    functions[kRows - 1][1] = tile_function<Step, kRows, 2>();
    functions[kRows - 1][2] = tile_function<Step, kRows, 3>();
    functions[kRows - 1][3] = tile_function<Step, kRows, 4>();
    if constexpr (kRows > 1) fill<kRows - 1>();
  }
};

template <class Step>
constexpr TileTable<Step> make_tile_table() {
  TileTable<Step> table{};
  table.template fill<max_tile_rows<typename Step::V>()>();
  return table;
}

template <class Step>
constexpr TileTable<Step> kTiles = make_tile_table<Step>();

/// Requires: n_rows <= max_tile_rows, n_panels <= panels_for(n_rows).
template <class Step>
void multiply_tile(std::int64_t n_rows, std::int64_t n_panels, const TileArgs& t) {
  kTiles<Step>.functions[n_rows - 1][n_panels - 1](t);
}

}  // namespace
}  // namespace lathe::kernels
