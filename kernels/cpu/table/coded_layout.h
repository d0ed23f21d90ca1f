// SPDX-License-Identifier: Apache-2.0
// How weights in codes and the activations that meet them lie in memory.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/codes/coded.h"

// Included by per-ISA files: every function here has internal linkage.
namespace lathe::kernels {

/// k that a dot product of bytes takes at a time.
inline constexpr int kQuad = 4;
/// k of what tiles of floats take at a time.
inline constexpr int kPair = 2;
/// k whose products are added before the next. Activations have a scale for each at most; all groups divide it.
inline constexpr int kActivationBlock = 128;
/// Scales of a nested layout that share one.
inline constexpr int kNestedScales = 256;

namespace {

/// A panel: codes of all groups, then scales.
/// Codes: [pair of quads][...]: of 8 bits [2][16 columns][4], of 4 bits [16][4], the first quad in the low halves; of e4m3
/// [pair of k][2][16], as weights without codes.
/// Scales: `half` and `single` [group][16] f16 or f32; `paired` [group][2][16] f16, of which the second are (zero point -
/// middle) / middle, exact in f16; `minned` [group][2][16] f32, of which the second are the weights of the middle codes /
/// -middle; `channel` [16] f32; `nested` [group][16] bytes, then [16] f32 means, [16]
/// i32 places of the row's first scale in its block of 256, and [block][16] f32. The last group is filled up with codes that
/// meet zeros.
struct CodedPanel {
  std::int64_t k;
  int bits;
  int group;  ///< where all of an output share a scale: any
  ScaleLayout scales;
  constexpr std::int64_t n_groups() const { return (k + group - 1) / group; }
  constexpr std::int64_t codes_bytes() const { return n_groups() * group * kPanelColumns * bits / 8; }
  /// Blocks of nested scales that a row reaches into, wherever it begins.
  constexpr std::int64_t n_nested_blocks() const { return (n_groups() + 2 * kNestedScales - 2) / kNestedScales; }
  constexpr std::int64_t scales_bytes() const {
    switch (scales) {
      case ScaleLayout::half: return n_groups() * kPanelColumns * 2;
      case ScaleLayout::paired: return n_groups() * kPanelColumns * 4;
      case ScaleLayout::single: return n_groups() * kPanelColumns * 4;
      case ScaleLayout::minned: return n_groups() * kPanelColumns * 8;
      case ScaleLayout::channel: return kPanelColumns * 4;
      case ScaleLayout::nested: return kPanelColumns * (n_groups() + 4 * (2 + n_nested_blocks()));
    }
    return 0;
  }
  constexpr std::int64_t bytes() const { return (codes_bytes() + scales_bytes() + 63) / 64 * 64; }
};

/// A scale that lies before an offset: 16 scales of a group, then what their zero points make of it.
struct PairedF16 : F16 {};
/// The same for minimums.
struct MinnedF32 {
  float value;
};

/// Where the parts of nested scales begin. Units: bytes from the scales of a panel.
struct NestedOffsets {
  std::int64_t means, places, blocks;
};
constexpr NestedOffsets nested_offsets(const CodedPanel& panel) {
  const std::int64_t means = panel.n_groups() * kPanelColumns;
  return {means, means + 4 * kPanelColumns, means + 8 * kPanelColumns};
}

/// Packed rows of activations: [block of kActivationBlock][tile][...], a tile: scale [row] f32, start [group][row] i32,
/// codes [quad][row][quad_bytes]. A start is what makes up for the middle of the weights' codes: -middle * sum of the
/// group's codes. Units: bytes that a row has of a block.
constexpr std::int64_t coded_row_bytes(int group, int quad_bytes) {
  return 4 + kActivationBlock / group * 4 + kActivationBlock / kQuad * quad_bytes;
}

/// An activation that is multiplied as it is.
struct Outlier {
  std::int64_t k;
  float x;
};

/// After all blocks, for each row: how many outliers it has, and room for k of them.
struct Outliers {
  std::int64_t n;
  Outlier list[1];
};
constexpr std::int64_t outliers_bytes(std::int64_t k) {
  return static_cast<std::int64_t>(sizeof(std::int64_t)) + k * static_cast<std::int64_t>(sizeof(Outlier));
}

}  // namespace
}  // namespace lathe::kernels
