// SPDX-License-Identifier: Apache-2.0
// int8 KV cache: K or V of a token as 8-bit integers, with a scale for each head.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {

/// Scale of a head, the value of code 1: the largest magnitude of the head becomes 127. NaN if an element is infinite or
/// NaN, so that everything computed from the head is NaN too. Source: vLLM's int8_per_token_head.
inline float kv_scale(std::span<const float> head) {
  float poison = 0;  // 0 times infinity, or times NaN, is NaN
  for (const float x : head) poison += x * 0;
  return largest_magnitude(head.data(), head.size()) / 127 + poison;
}

/// Code of x: x / scale rounded to the nearest integer, ties to even.
inline std::int8_t kv_code(float x, float scale) {
  return scale > 0 ? static_cast<std::int8_t>(to_nearest(bounded(x / scale, -127.0F, 127.0F))) : std::int8_t{0};
}

}  // namespace lathe::kernels
