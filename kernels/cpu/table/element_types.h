// SPDX-License-Identifier: Apache-2.0
// Tags that select overloads of the vector operations: the float types of less than 32 bits, and "all lanes".
#pragma once

#include <cstdint>

namespace lathe::kernels {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};
/// Loaded as 2^-8 times its value: what its bits are in the middle of an f16, whose exponents are biased by 8 more. Not NaN.
struct E4m3 {
  std::uint8_t bits;
};

/// Given instead of a number of lanes: all of them, without a mask.
struct AllLanes {};

}  // namespace lathe::kernels
