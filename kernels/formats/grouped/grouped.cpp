// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/grouped.h"

#include <algorithm>
#include <cmath>

#include "kernels/api/dtype.h"

namespace lathe::kernels {
namespace {

constexpr std::uint16_t kLargestF16 = 0x7bff;

/// An infinite scale would turn every weight of the group into NaN.
std::uint16_t finite_f16(float value) {
  const std::uint16_t bits = f32_to_f16(value);
  return (bits & 0x7fffU) == 0x7c00U ? static_cast<std::uint16_t>((bits & 0x8000U) | kLargestF16) : bits;
}

float with_largest_magnitude(std::span<const float> weights) {
  float largest = 0;
  for (const float w : weights) {
    if (std::fabs(w) > std::fabs(largest)) largest = w;
  }
  return largest;
}

}  // namespace

std::uint16_t quantize_group(const GroupedCodes& format, std::span<const float> weights, std::uint8_t* codes) {
  const float largest = with_largest_magnitude(weights);
  const std::uint16_t scale = finite_f16(format.bits == 8 ? std::fabs(largest) / 127 : largest / -8);
  const float stored = f16_to_f32(scale);
  const auto middle = static_cast<float>(format.middle());
  const float lowest = format.bits == 8 ? 1.0F : 0.0F;
  const float highest = 2 * middle - 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float code = stored != 0 ? std::nearbyint(weights[i] / stored) + middle : middle;
    codes[i] = static_cast<std::uint8_t>(std::isnan(code) ? middle : std::clamp(code, lowest, highest));
  }
  return scale;
}

float dequantized(const GroupedCodes& format, std::uint8_t code, std::uint16_t scale) {
  return static_cast<float>(code - format.middle()) * f16_to_f32(scale);
}

}  // namespace lathe::kernels
