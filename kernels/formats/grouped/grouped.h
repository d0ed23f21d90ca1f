// SPDX-License-Identifier: Apache-2.0
// Weights in groups along k, rounded to the nearest code: one scale in f16 a group, no zero point.
#pragma once

#include <cstdint>
#include <span>

namespace lathe::kernels {

/// A weight is (code - middle) * scale.
/// 8 bits: codes 1 to 255, scale = max |w| / 127. 4 bits: codes 0 to 15, scale = w / -8 for the w of the largest magnitude, so
/// that all sixteen codes are used. Both as GGUF's Q8_0 and Q4_0 choose them (groups of 32), but codes are those nearest to w
/// under the scale as it is stored.
struct GroupedCodes {
  int bits = 0;   ///< 8 or 4
  int group = 0;  ///< weights that share a scale
  constexpr int middle() const { return 1 << (bits - 1); }
};

/// Writes a code for each weight (at most `group`), and gives their scale as f16 bits.
std::uint16_t quantize_group(const GroupedCodes& format, std::span<const float> weights, std::uint8_t* codes);

/// The weight that a code stands for.
float dequantized(const GroupedCodes& format, std::uint8_t code, std::uint16_t scale);

}  // namespace lathe::kernels
