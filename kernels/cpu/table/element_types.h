// SPDX-License-Identifier: Apache-2.0
// Tags that select overloads of the vector operations: the two 16-bit float types, and "all lanes".
#pragma once

#include <cstdint>

namespace lathe::kernels {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

/// Given instead of a number of lanes: all of them, without a mask.
struct AllLanes {};

}  // namespace lathe::kernels
