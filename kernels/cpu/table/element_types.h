// SPDX-License-Identifier: Apache-2.0
// Tags that select overloads of the vector operations: the number types that C++ lacks, and "all lanes".
#pragma once

#include <cstdint>

namespace lathe::kernels {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};
/// A whole number that a scale belongs to.
struct I8 {
  std::int8_t code;
};
struct E4m3 {
  std::uint8_t bits;
};
/// Loaded as 2^-8 times its value: what its bits are in the middle of an f16, whose exponents are biased by 8 more. Not NaN.
struct RawE4m3 {
  std::uint8_t bits;
};
struct E5m2 {
  std::uint8_t bits;
};

/// Given instead of a number of lanes: all of them, without a mask.
struct AllLanes {};

}  // namespace lathe::kernels
