// SPDX-License-Identifier: Apache-2.0
// Computes scales and codes of weights with one scale per output, for any instruction set.
#pragma once

#include <span>

#include "kernels/formats/codes/coded.h"
#include "kernels/formats/codes/rounding.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

constexpr float kMiddle = 128;

inline Ints code_of(Floats steps) {
  return __builtin_convertvector(to_nearest(bounded(steps, -127.0F, 127.0F)) + kMiddle, Ints);
}

inline CodeScale channel_scale(const CodedFormat&, std::span<const float> weights) {
  constexpr float kSmallest = 1e-5F;
  const float largest = largest_magnitude(weights.data(), weights.size());
  return {.scale = (largest < kSmallest ? kSmallest : largest) / 127};
}

inline void channel_encode(const CodedFormat&, std::span<const float> weights, const CodeScale& of_row,
                           std::uint8_t* codes) {
  const float scale = of_row.scale;
  encode_each(weights.data(), weights.size(), codes, [=](Floats weight) { return code_of(weight / scale); });
}

/// Keeps the scale finite: an infinite scale would turn every weight of the row into NaN.
inline CodeScale llm_scale(const CodedFormat&, std::span<const float> weights) {
  constexpr float kLargestF16 = 65504;
  const float largest = largest_magnitude(weights.data(), weights.size());
  return {.scale = nearest_f16(largest > kLargestF16 ? kLargestF16 : largest)};
}

inline void llm_encode(const CodedFormat&, std::span<const float> weights, const CodeScale& of_row, std::uint8_t* codes) {
  // The order in which PyTorch divides a scalar by a tensor.
  const float to_code = of_row.scale > 0 ? 1.0F / of_row.scale * 127.0F : 0;
  encode_each(weights.data(), weights.size(), codes, [=](Floats weight) { return code_of(nearest_f16(weight) * to_code); });
}

}  // namespace
}  // namespace lathe::kernels
