// SPDX-License-Identifier: Apache-2.0
// The scale of weights that become MXFP4, for any instruction set. Codes are found as those of bitsandbytes' books.
#pragma once

#include "kernels/formats/bnb4/bnb4_encoder.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// The power of two below the largest weight, less the two binary places that the largest number of the book has.
inline CodeScale mxfp4_scale(const CodedFormat&, std::span<const float> weights) {
  constexpr std::int32_t kExponent = 0x7f800000, kLargestFinite = 0x7f000000;
  constexpr float kBook = 0.25F, kSmallest = 0x1p-120F;  // below it a quotient would overflow
  std::int32_t exponent = bits_as<std::int32_t>(largest_magnitude(weights.data(), weights.size())) & kExponent;
  if (exponent > kLargestFinite) exponent = kLargestFinite;
  const float scale = bits_as<float>(exponent) * kBook;
  return {.scale = scale < kSmallest ? kSmallest : scale};
}

}  // namespace
}  // namespace lathe::kernels
