// SPDX-License-Identifier: Apache-2.0
// Memory layout of coded weights and of the activations that are multiplied with them.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/codes/coded.h"

// Included by per-ISA files: every function here has internal linkage.
namespace lathe::kernels {

/// Consecutive k that a dot product of bytes takes at a time.
inline constexpr int kQuad = 4;
/// Consecutive k that tiles of floats take at a time.
inline constexpr int kPair = 2;
/// Consecutive k whose products are added before the next block begins. Activations have at most one scale for each block;
/// every group size divides it.
inline constexpr int kActivationBlock = 128;
/// Nested scales that share an outer scale.
inline constexpr int kNestedScales = 256;

namespace {

/// Layout of a panel of coded weights: codes of all groups, then scales.
/// Codes: [pair of quads][...]: 8 bits [2][16 columns][4]; 4 bits [16][4], the first quad in the low nibbles; e4m3 [pair of
/// k][2][16], the layout of weights without codes.
/// Scales: `half` and `single` [group][16] f16 or f32; `paired` [group][2][16] f16, the second 16 being (zero point -
/// middle) / middle, exact in f16; `minned` [group][2][16] f32, the second 16 being the weights of the middle codes /
/// -middle; `channel` [16] f32; `nested` [group][16] bytes, then [16] f32 means, [16] i32 indices of the row's first scale
/// in its block of 256, and [block][16] f32. The last group is padded with codes that are multiplied with zeros.
struct CodedPanel {
  std::int64_t k;
  int bits;
  int group;  ///< weights that share a scale; any value where a whole output does
  ScaleLayout scales;
  constexpr std::int64_t n_groups() const { return (k + group - 1) / group; }
  constexpr std::int64_t codes_bytes() const { return n_groups() * group * kPanelColumns * bits / 8; }
  /// Most blocks of nested scales that a row can intersect, wherever it begins.
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

/// Tag of `paired` scales: 16 scales of a group, then the 16 values of their zero points.
struct PairedF16 : F16 {};
/// Tag of `minned` scales: 16 scales of a group, then the 16 values of their minimums.
struct MinnedF32 {
  float value;
};

/// Offsets of the parts of nested scales. Units: bytes from the scales of a panel.
struct NestedOffsets {
  std::int64_t means, places, blocks;
};
constexpr NestedOffsets nested_offsets(const CodedPanel& panel) {
  const std::int64_t means = panel.n_groups() * kPanelColumns;
  return {means, means + 4 * kPanelColumns, means + 8 * kPanelColumns};
}

/// Packed rows of activations: [block of kActivationBlock][tile][...], a tile: scale [row] f32, start [group][row] i32,
/// codes [quad][row][quad_bytes]. A start, -middle * sum of the group's activation codes, corrects for the middle of the
/// weights' codes. Units: bytes of a row in a block.
constexpr std::int64_t coded_row_bytes(int group, int quad_bytes) {
  return 4 + kActivationBlock / group * 4 + kActivationBlock / kQuad * quad_bytes;
}

/// An activation that is multiplied without rounding.
struct Outlier {
  std::int64_t k;
  float x;
};

/// Outliers of a row, stored after all blocks: their number, and space for k of them.
struct Outliers {
  std::int64_t n;
  Outlier list[1];
};
constexpr std::int64_t outliers_bytes(std::int64_t k) {
  return static_cast<std::int64_t>(sizeof(std::int64_t)) + k * static_cast<std::int64_t>(sizeof(Outlier));
}

}  // namespace
}  // namespace lathe::kernels
