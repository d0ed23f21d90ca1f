// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/dtype.h"

#include <cmath>

namespace lathe::kernels {
namespace {

struct SmallFloat {
  int fraction_bits;
  int bias;
  float smallest_normal;  ///< 2^(1 - bias)
  float largest;
  std::uint8_t nan;
};

constexpr SmallFloat kE4m3{.fraction_bits = 3, .bias = 7, .smallest_normal = 0x1p-6F, .largest = 448, .nan = 0x7f};
constexpr SmallFloat kE5m2{.fraction_bits = 2, .bias = 15, .smallest_normal = 0x1p-14F, .largest = 57344, .nan = 0x7f};

/// Widens a value that is neither infinite nor NaN.
float widened(const SmallFloat& type, std::uint8_t bits) {
  const auto sign = static_cast<std::uint32_t>(bits & 0x80U) << 24;
  const std::uint32_t magnitude = bits & 0x7fU;
  const std::uint32_t exponent = magnitude >> type.fraction_bits;
  if (exponent == 0) {
    const float value = static_cast<float>(magnitude) * type.smallest_normal / static_cast<float>(1 << type.fraction_bits);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  const auto rebase = static_cast<std::uint32_t>(127 - type.bias) << 23;
  return std::bit_cast<float>(sign | ((magnitude << (23 - type.fraction_bits)) + rebase));
}

std::uint8_t narrowed(const SmallFloat& type, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  float magnitude = std::bit_cast<float>(bits & 0x7fffffffU);
  if (std::isnan(magnitude)) return static_cast<std::uint8_t>(sign | type.nan);
  if (magnitude > type.largest) magnitude = type.largest;
  if (magnitude < type.smallest_normal) {
    // The result is a multiple of the smallest subnormal. Adding `shift`, whose last bit has that value, rounds to it.
    const float last_bit = type.smallest_normal / static_cast<float>(1 << type.fraction_bits);
    const float shift = last_bit * 0x1p23F;
    const std::uint32_t steps = std::bit_cast<std::uint32_t>(magnitude + shift) - std::bit_cast<std::uint32_t>(shift);
    return static_cast<std::uint8_t>(sign | steps);
  }
  const int dropped = 23 - type.fraction_bits;
  std::uint32_t rounded = std::bit_cast<std::uint32_t>(magnitude);
  rounded += (1U << (dropped - 1)) - 1 + ((rounded >> dropped) & 1U);
  const auto rebase = static_cast<std::uint32_t>(127 - type.bias) << type.fraction_bits;
  return static_cast<std::uint8_t>(sign | ((rounded >> dropped) - rebase));
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1fU) {  // infinity, or NaN made quiet as the processor does
    const std::uint32_t quiet = fraction != 0 ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7f800000U | quiet | (fraction << 13));
  }
  if (exponent == 0) {  // zero and subnormals are fraction * 2^-24, which f32 holds exactly
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 127 - 15) << 23) | (fraction << 13));
}

std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {
    // Below 2^-14 the result is a multiple of 2^-24. Adding 0.5 leaves exactly those bits in the f32 fraction, rounded.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float e4m3_to_f32(std::uint8_t bits) {
  constexpr std::uint8_t kNan = 0x7f;
  if ((bits & 0x7fU) == kNan) return std::bit_cast<float>((static_cast<std::uint32_t>(bits & 0x80U) << 24) | 0x7fc00000U);
  return widened(kE4m3, bits);
}

float e5m2_to_f32(std::uint8_t bits) {
  return f16_to_f32(static_cast<std::uint16_t>(bits << 8));  // e5m2 has the exponent of f16 and fewer fraction bits
}

std::uint8_t f32_to_e4m3(float value) { return narrowed(kE4m3, value); }
std::uint8_t f32_to_e5m2(float value) { return narrowed(kE5m2, value); }

}  // namespace lathe::kernels
