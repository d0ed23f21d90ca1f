// SPDX-License-Identifier: Apache-2.0
// Computes scales and codes of weights in groups, for any instruction set.
#pragma once

#include <span>

#include "kernels/formats/codes/coded.h"
#include "kernels/formats/codes/rounding.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

inline int middle_of(const CodedFormat& format) { return 1 << (format.bits - 1); }

/// Rounds to f16 and keeps the result finite: an infinite scale would turn every weight of the group into NaN.
inline float finite_f16(float value) {
  constexpr float kLargestF16 = 65504;
  const float nearest = nearest_f16(value);
  return nearest > kLargestF16 ? kLargestF16 : nearest < -kLargestF16 ? -kLargestF16 : nearest;
}

/// The first weight with the largest magnitude, with its sign.
inline float with_largest_magnitude(const float* weights, std::size_t n) {
  const Extent extent = extent_of(weights, n);
  if (extent.greatest != -extent.least) return extent.greatest > -extent.least ? extent.greatest : extent.least;
  std::size_t i = 0;
  while (i < n && weights[i] != extent.greatest && weights[i] != extent.least) ++i;
  return i < n && extent.greatest != 0 ? weights[i] : 0;
}

inline CodeScale grouped_scale(const CodedFormat& format, std::span<const float> weights) {
  const float* const first = weights.data();
  const std::size_t n = weights.size();
  return {.scale = finite_f16(format.bits == 8 ? largest_magnitude(first, n) / 127 : with_largest_magnitude(first, n) / -8)};
}

inline void grouped_encode(const CodedFormat& format, std::span<const float> weights, const CodeScale& group,
                           std::uint8_t* codes) {
  const float scale = group.scale;
  const auto middle = static_cast<float>(middle_of(format));
  const float lowest = (format.bits == 8 ? 1.0F : 0.0F) - middle;
  const float highest = middle - 1;
  if (scale == 0) {
    for (std::size_t i = 0; i < weights.size(); ++i) codes[i] = static_cast<std::uint8_t>(middle_of(format));
    return;
  }
  encode_each(weights.data(), weights.size(), codes, [=](Floats weight) {
    return __builtin_convertvector(to_nearest(bounded(weight / scale, lowest, highest)) + middle, Ints);
  });
}

inline CodeScale asymmetric_scale(const CodedFormat& format, std::span<const float> weights) {
  const auto most = static_cast<float>((1 << format.bits) - 1);
  const Extent extent = extent_of(weights.data(), weights.size());
  // The division comes before the difference, because the difference of the largest floats is infinite.
  const float scale = finite_f16(extent.greatest / most - extent.least / most);
  if (scale == 0) return {.scale = 0, .zero = static_cast<float>(middle_of(format))};
  return {.scale = scale, .zero = to_nearest(bounded(-extent.least / scale, 0.0F, most))};
}

inline void asymmetric_encode(const CodedFormat& format, std::span<const float> weights, const CodeScale& group,
                              std::uint8_t* codes) {
  const auto most = static_cast<float>((1 << format.bits) - 1);
  const auto [scale, zero] = group;
  if (scale == 0) {
    for (std::size_t i = 0; i < weights.size(); ++i) codes[i] = static_cast<std::uint8_t>(zero);
    return;
  }
  encode_each(weights.data(), weights.size(), codes, [scale = scale, zero = zero, most](Floats weight) {
    return __builtin_convertvector(to_nearest(bounded(weight / scale, -zero, most - zero)) + zero, Ints);
  });
}

}  // namespace
}  // namespace lathe::kernels
