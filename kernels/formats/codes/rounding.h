// SPDX-License-Identifier: Apache-2.0
// What formats round with, written so that compilers make vectors of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace lathe::kernels {

/// To the nearest whole number, ties to even: adding 1.5 * 2^23 pushes the fraction out of the mantissa. Requires: |x| < 2^22.
inline float to_nearest(float x) {
  constexpr float kShift = 12582912.0F;
  return (x + kShift) - kShift;
}

/// 0 for what is no number.
inline float bounded(float x, float lowest, float highest) {
  return x < lowest ? lowest : x > highest ? highest : x == x ? x : 0;
}

/// 0 where nothing is a number.
inline float largest_magnitude(std::span<const float> numbers) {
  float largest = 0;
  for (const float x : numbers) largest = std::max(largest, std::fabs(x));
  return largest;
}

}  // namespace lathe::kernels
