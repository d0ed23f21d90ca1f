// SPDX-License-Identifier: Apache-2.0
// K or V of a token in 8 bits: whole numbers, and a scale for each head.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {

/// What 1 stands for: the largest magnitude of the head is 127. NaN where a number is infinite or none, so that what is
/// made of it is none either. Source: vLLM's int8_per_token_head.
inline float kv_scale(std::span<const float> head) {
  float poison = 0;  // 0 times infinity, or times NaN, is NaN
  for (const float x : head) poison += x * 0;
  return largest_magnitude(head.data(), head.size()) / 127 + poison;
}

/// The number in steps of the scale, to the nearest, ties to even.
inline std::int8_t kv_code(float x, float scale) {
  return scale > 0 ? static_cast<std::int8_t>(to_nearest(bounded(x / scale, -127.0F, 127.0F))) : std::int8_t{0};
}

}  // namespace lathe::kernels
