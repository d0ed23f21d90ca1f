// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/stored_blocks.h"

#include <cstring>

#include "kernels/api/dtype.h"

namespace lathe::kernels {
namespace {

constexpr int kGroup = 32;
constexpr int kScaleBytes = 2;
constexpr int kMiddleOfBytes = 128;

CodeScale scale_at(const std::byte* block) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, block, sizeof bits);
  return {.scale = f16_to_f32(bits)};
}

/// Signed codes become unsigned ones.
CodeScale read_q8_0(const std::byte* block, std::uint8_t* codes) {
  for (int i = 0; i < kGroup; ++i) {
    codes[i] = static_cast<std::uint8_t>(std::to_integer<int>(block[kScaleBytes + i]) ^ kMiddleOfBytes);
  }
  return scale_at(block);
}

CodeScale read_q4_0(const std::byte* block, std::uint8_t* codes) {
  for (int i = 0; i < kGroup / 2; ++i) {
    const auto both = std::to_integer<std::uint8_t>(block[kScaleBytes + i]);
    codes[i] = both & 15;
    codes[i + kGroup / 2] = both >> 4;
  }
  return scale_at(block);
}

constexpr StoredBlocks kQ8_0 = {.n_bytes = kScaleBytes + kGroup, .read = read_q8_0};
constexpr StoredBlocks kQ4_0 = {.n_bytes = kScaleBytes + kGroup / 2, .read = read_q4_0};

}  // namespace

const StoredBlocks& q8_0_blocks() { return kQ8_0; }
const StoredBlocks& q4_0_blocks() { return kQ4_0; }

}  // namespace lathe::kernels
