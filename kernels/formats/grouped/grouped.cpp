// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/grouped.h"

#include <cmath>

#include "kernels/api/dtype.h"
#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {
namespace {

constexpr std::uint16_t kLargestF16 = 0x7bff;

int middle_of(const CodedFormat& format) { return 1 << (format.bits - 1); }

/// An infinite scale would turn every weight of the group into NaN.
float finite_f16(float value) {
  const std::uint16_t bits = f32_to_f16(value);
  const bool is_infinite = (bits & 0x7fffU) == 0x7c00U;
  return f16_to_f32(is_infinite ? static_cast<std::uint16_t>((bits & 0x8000U) | kLargestF16) : bits);
}

float with_largest_magnitude(std::span<const float> weights) {
  float largest = 0;
  for (const float w : weights) {
    if (std::fabs(w) > std::fabs(largest)) largest = w;
  }
  return largest;
}

float scale_of(const CodedFormat& format, std::span<const float> weights) {
  return finite_f16(format.bits == 8 ? largest_magnitude(weights) / 127 : with_largest_magnitude(weights) / -8);
}

void encode(const CodedFormat& format, std::span<const float> weights, float scale, std::uint8_t* codes) {
  const auto middle = static_cast<float>(middle_of(format));
  const float lowest = (format.bits == 8 ? 1.0F : 0.0F) - middle;
  const float highest = middle - 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float steps = scale != 0 ? bounded(weights[i] / scale, lowest, highest) : 0;
    codes[i] = static_cast<std::uint8_t>(to_nearest(steps) + middle);
  }
}

float decode(const CodedFormat& format, std::uint8_t code, float scale) {
  return static_cast<float>(code - middle_of(format)) * scale;
}

}  // namespace

CodedFormat grouped_format(int bits, int group) {
  return {.bits = bits, .group = group, .scales = ScaleLayout::half, .scale_of = scale_of, .encode = encode, .decode = decode};
}

}  // namespace lathe::kernels
