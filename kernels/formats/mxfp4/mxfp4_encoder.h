// SPDX-License-Identifier: Apache-2.0
// Computes the scale of MXFP4, for any instruction set. Codes are found by the encoder of the bitsandbytes codebooks.
#pragma once

#include "kernels/formats/bnb4/bnb4_encoder.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// The largest power of two that is at most the largest magnitude, divided by 2^2, the power of two in the codebook's
/// largest value.
inline CodeScale mxfp4_scale(const CodedFormat&, std::span<const float> weights) {
  constexpr std::int32_t kExponent = 0x7f800000, kLargestFinite = 0x7f000000;
  constexpr float kBook = 0.25F, kSmallest = 0x1p-120F;  // with a smaller scale weight / scale would overflow
  std::int32_t exponent = bits_as<std::int32_t>(largest_magnitude(weights.data(), weights.size())) & kExponent;
  if (exponent > kLargestFinite) exponent = kLargestFinite;
  const float scale = bits_as<float>(exponent) * kBook;
  return {.scale = scale < kSmallest ? kSmallest : scale};
}

}  // namespace
}  // namespace lathe::kernels
