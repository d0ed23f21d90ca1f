// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/legacy_blocks.h"

#include <array>
#include <bit>

#include "engine/load/gguf/block_reading.h"

namespace lathe::engine {
namespace {

constexpr int kLegacyBlock = 32, kLegacyBytes = kLegacyBlock / 2;

/// The 8 values of FP4 (E2M1), doubled, and their negatives.
constexpr std::array<float, 16> kDoubledFp4 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Half of the power of two of an E8M0 byte.
float half_power(std::byte e8m0) {
  const auto exponent = std::to_integer<std::uint32_t>(e8m0);
  return std::bit_cast<float>(exponent < 2 ? 0x0020'0000U << exponent : (exponent - 1) << 23);
}

}  // namespace

void decode_q4_0(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 18, to += kLegacyBlock) {
    const float scale = half_at(from);
    for_codes(from + 2, kLegacyBytes, [&](int i, int code) { to[i] = scale * static_cast<float>(code - 8); });
  }
}

void decode_q8_0(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 34, to += kLegacyBlock) {
    const float scale = half_at(from);
    for (int i = 0; i < kLegacyBlock; ++i) to[i] = scale * static_cast<float>(read_as<std::int8_t>(from + 2 + i));
  }
}

void decode_mxfp4(const std::byte* from, std::int64_t n_blocks, float* to) {
  for (; n_blocks > 0; --n_blocks, from += 17, to += kLegacyBlock) {
    const float scale = half_power(*from);
    for_codes(from + 1, kLegacyBytes, [&](int i, int code) { to[i] = scale * kDoubledFp4[static_cast<std::size_t>(code)]; });
  }
}

}  // namespace lathe::engine
