// SPDX-License-Identifier: Apache-2.0
// How numbers lie in the blocks of GGUF files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/api/dtype.h"

namespace lathe::engine {

/// The 16 values of IQ4_NL and IQ4_XS, closer together where weights are dense.
inline constexpr std::array<float, 16> kDenseValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                       1,    13,   25,  38,  53,  69,  89,  113};

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline float half_at(const std::byte* from) { return kernels::f16_to_f32(read_as<std::uint16_t>(from)); }

/// `n_bits` of a byte, from bit `first` up.
inline int bits_of(std::byte byte, int first, int n_bits) {
  return std::to_integer<int>(byte) >> first & ((1 << n_bits) - 1);
}

/// Calls each(i, code) for the 2n codes of 4 bits in n bytes: first the low halves of all bytes, then the high ones.
template <class Each>
void for_codes(const std::byte* from, int n, const Each& each) {
  for (int i = 0; i < n; ++i) {
    each(i, bits_of(from[i], 0, 4));
    each(i + n, bits_of(from[i], 4, 4));
  }
}

}  // namespace lathe::engine
