// SPDX-License-Identifier: Apache-2.0
// Tags that select overloads of the vector operations: the element types that C++ lacks, and "all lanes".
#pragma once

#include <cstdint>

namespace lathe::kernels {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};
/// An integer code that is multiplied with a scale.
struct I8 {
  std::int8_t code;
};
struct E4m3 {
  std::uint8_t bits;
};
/// An e4m3 value, not NaN, loaded as 2^-8 times its value: its bits are placed in the middle of an f16, whose exponent bias
/// is greater by 8.
struct RawE4m3 {
  std::uint8_t bits;
};
struct E5m2 {
  std::uint8_t bits;
};

/// Passed instead of a number of lanes: all lanes, without a mask.
struct AllLanes {};

}  // namespace lathe::kernels
