// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/codes/plain_blocks.h"

#include <cstring>

namespace lathe::kernels {
namespace {

constexpr int kFloatBytes = 4;

template <int kFloats>
CodeScale read(const std::byte* block, std::span<std::uint8_t> codes) {
  float numbers[2] = {};
  std::memcpy(numbers, block, kFloats * sizeof(float));
  std::memcpy(codes.data(), block + kFloats * sizeof(float), codes.size());
  return {.scale = numbers[0], .zero = numbers[1]};
}

template <int kFloats>
void write(const CodeScale& scale, std::span<const std::uint8_t> codes, std::byte* block) {
  const float numbers[2] = {scale.scale, scale.zero};
  std::memcpy(block, numbers, kFloats * sizeof(float));
  std::memcpy(block + kFloats * sizeof(float), codes.data(), codes.size());
}

constexpr StoredBlocks kPlain = {.scale_bytes = kFloatBytes, .code_bits = 8, .read = read<1>, .write = write<1>};
constexpr StoredBlocks kWithZeros = {.scale_bytes = 2 * kFloatBytes, .code_bits = 8, .read = read<2>, .write = write<2>};

}  // namespace

const StoredBlocks& plain_blocks() { return kPlain; }
const StoredBlocks& plain_blocks_with_zeros() { return kWithZeros; }

}  // namespace lathe::kernels
