// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/legacy_blocks.h"

#include <array>
#include <cstring>

#include "kernels/api/dtype.h"

namespace lathe::engine {
namespace {

constexpr int kBlock = 32, kHalf = kBlock / 2;

/// The 16 values of IQ4_NL, closer together where weights are dense.
constexpr std::array<float, 16> kDense = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float half_at(const std::byte* from) { return kernels::f16_to_f32(read_as<std::uint16_t>(from)); }

/// Calls each(i, code) for the 32 codes of 16 bytes: first the low halves of all bytes, then the high ones.
template <class Each>
void for_codes(const std::byte* from, const Each& each) {
  for (int i = 0; i < kHalf; ++i) {
    each(i, std::to_integer<int>(from[i] & std::byte{15}));
    each(i + kHalf, std::to_integer<int>(from[i] >> 4));
  }
}

/// The same with the fifth bits of all codes before them.
template <class Each>
void for_long_codes(const std::byte* from, const Each& each) {
  const auto high = read_as<std::uint32_t>(from);
  for_codes(from + sizeof high, [&](int i, int code) { each(i, code | static_cast<int>(high >> i & 1) << 4); });
}

}  // namespace

void decode_q4_0(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 18, to += kBlock) {
    const float scale = half_at(from);
    for_codes(from + 2, [&](int i, int code) { to[i] = scale * static_cast<float>(code - 8); });
  }
}

void decode_q4_1(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 20, to += kBlock) {
    const float scale = half_at(from), least = half_at(from + 2);
    for_codes(from + 4, [&](int i, int code) { to[i] = scale * static_cast<float>(code) + least; });
  }
}

void decode_q5_0(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 22, to += kBlock) {
    const float scale = half_at(from);
    for_long_codes(from + 2, [&](int i, int code) { to[i] = scale * static_cast<float>(code - 16); });
  }
}

void decode_q5_1(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 24, to += kBlock) {
    const float scale = half_at(from), least = half_at(from + 2);
    for_long_codes(from + 4, [&](int i, int code) { to[i] = scale * static_cast<float>(code) + least; });
  }
}

void decode_q8_0(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 34, to += kBlock) {
    const float scale = half_at(from);
    for (int i = 0; i < kBlock; ++i) to[i] = scale * static_cast<float>(read_as<std::int8_t>(from + 2 + i));
  }
}

void decode_iq4_nl(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 18, to += kBlock) {
    const float scale = half_at(from);
    for_codes(from + 2, [&](int i, int code) { to[i] = scale * kDense[static_cast<std::size_t>(code)]; });
  }
}

}  // namespace lathe::engine
