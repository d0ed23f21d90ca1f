// SPDX-License-Identifier: Apache-2.0
// Reads bit fields from the blocks of GGUF files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/api/dtype.h"

namespace lathe::engine {

/// Elements per block of the k-quants (QK_K).
inline constexpr int kSuperBlock = 256;

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline float half_at(const std::byte* from) { return kernels::f16_to_f32(read_as<std::uint16_t>(from)); }

/// Extracts `n_bits` bits of a byte, from bit `first` up.
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

/// As for_codes, for 32 codes of 5 bits: the fifth bits of all codes are stored first.
template <class Each>
void for_long_codes(const std::byte* from, const Each& each) {
  const auto high = read_as<std::uint32_t>(from);
  for_codes(from + sizeof high, 16, [&](int i, int code) { each(i, code | static_cast<int>(high >> i & 1) << 4); });
}

/// Calls each(i, code) for the 128 codes of 2 bits in 32 bytes: the lowest bits of all bytes come first.
template <class Each>
void for_short_codes(const std::byte* from, const Each& each) {
  constexpr int kBytes = 32;
  for (int i = 0; i < kSuperBlock / 2; ++i) each(i, bits_of(from[i % kBytes], i / kBytes * 2, 2));
}

/// Scale and offset of part `j` of 8, six bits each, in 12 bytes. The first four parts have one byte for each value; its two
/// highest bits are the highest bits of a later part.
struct ScaleAndOffset {
  int scale, offset;
};

inline ScaleAndOffset scale_and_offset(const std::byte* from, int j) {
  if (j < 4) return {.scale = bits_of(from[j], 0, 6), .offset = bits_of(from[j + 4], 0, 6)};
  return {.scale = bits_of(from[j + 4], 0, 4) | bits_of(from[j - 4], 6, 2) << 4,
          .offset = bits_of(from[j + 4], 4, 4) | bits_of(from[j], 6, 2) << 4};
}

/// Scale `j` of 16, six bits in 12 bytes: four lower bits in the first 8, two upper bits in the last 4.
inline int short_scale(const std::byte* from, int j) {
  return bits_of(from[j % 8], j / 8 * 4, 4) | bits_of(from[8 + j % 4], j / 4 * 2, 2) << 4;
}

/// The 4-bit code of element `i`: every 64 elements have 32 bytes, low halves first.
inline int nibble(const std::byte* from, int i) { return bits_of(from[i / 64 * 32 + i % 32], i / 32 % 2 * 4, 4); }

}  // namespace lathe::engine
