// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/stored_blocks.h"

#include <cstring>

#include "kernels/api/dtype.h"

namespace lathe::kernels {
namespace {

constexpr int kScaleBytes = 2;
constexpr int kMiddleOfBytes = 128;

CodeScale scale_at(const std::byte* block) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, block, sizeof bits);
  return {.scale = f16_to_f32(bits)};
}

void put_scale(const CodeScale& scale, std::byte* block) {
  const std::uint16_t bits = f32_to_f16(scale.scale);
  std::memcpy(block, &bits, sizeof bits);
}

/// Converts signed codes to unsigned ones.
CodeScale read_q8_0(const std::byte* block, std::span<std::uint8_t> codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(std::to_integer<int>(block[kScaleBytes + i]) ^ kMiddleOfBytes);
  }
  return scale_at(block);
}

void write_q8_0(const CodeScale& scale, std::span<const std::uint8_t> codes, std::byte* block) {
  put_scale(scale, block);
  for (std::size_t i = 0; i < codes.size(); ++i) block[kScaleBytes + i] = std::byte(codes[i] ^ kMiddleOfBytes);
}

CodeScale read_q4_0(const std::byte* block, std::span<std::uint8_t> codes) {
  const std::size_t half = codes.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const auto both = std::to_integer<std::uint8_t>(block[kScaleBytes + i]);
    codes[i] = both & 15;
    codes[i + half] = both >> 4;
  }
  return scale_at(block);
}

void write_q4_0(const CodeScale& scale, std::span<const std::uint8_t> codes, std::byte* block) {
  put_scale(scale, block);
  const std::size_t half = codes.size() / 2;
  for (std::size_t i = 0; i < half; ++i) block[kScaleBytes + i] = std::byte(codes[i] | codes[i + half] << 4);
}

constexpr StoredBlocks kQ8_0 = {
    .scale_bytes = kScaleBytes, .code_bits = 8, .whole_groups = true, .read = read_q8_0, .write = write_q8_0};
constexpr StoredBlocks kQ4_0 = {
    .scale_bytes = kScaleBytes, .code_bits = 4, .whole_groups = true, .read = read_q4_0, .write = write_q4_0};

}  // namespace

const StoredBlocks& q8_0_blocks() { return kQ8_0; }
const StoredBlocks& q4_0_blocks() { return kQ4_0; }

}  // namespace lathe::kernels
