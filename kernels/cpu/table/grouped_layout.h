// SPDX-License-Identifier: Apache-2.0
// How weights in groups and the activations that meet them lie in memory.
#pragma once

#include <cstdint>

#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

/// k that a dot product of bytes takes at a time.
inline constexpr int kQuad = 4;
/// k whose activations share a scale. All groups divide it.
inline constexpr int kActivationBlock = 128;

/// A panel: codes of all groups, then scales of all groups.
/// Codes: [pair of quads][...]: of 8 bits [2][16 columns][4], of 4 bits [16][4], the first quad in the low halves.
/// Scales: [group][16] f16. The last group is filled up with codes that meet zeros.
struct GroupedPanel {
  std::int64_t k;
  int bits;
  int group;
  constexpr std::int64_t n_groups() const { return (k + group - 1) / group; }
  constexpr std::int64_t codes_bytes() const { return n_groups() * group * kPanelColumns * bits / 8; }
  constexpr std::int64_t scales_bytes() const { return n_groups() * kPanelColumns * 2; }
  constexpr std::int64_t bytes() const { return (codes_bytes() + scales_bytes() + 63) / 64 * 64; }
};

/// Packed rows of activations: [block of kActivationBlock][tile][...], a tile: scale [row] f32, start [group][row] i32, codes
/// [quad][row][quad_bytes]. A start is what makes up for the middle of the weights' codes: -middle * sum of the group's codes.
/// Units: bytes that a row has of a block.
constexpr std::int64_t grouped_row_bytes(int group, int quad_bytes) {
  return 4 + kActivationBlock / group * 4 + kActivationBlock / kQuad * quad_bytes;
}

}  // namespace lathe::kernels
