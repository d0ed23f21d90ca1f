// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/random.h"

namespace lathe::engine {
namespace {

constexpr std::uint64_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiply0 * counter[0];
    const std::uint64_t product1 = kMultiply1 * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

double uniform_at(std::uint64_t seed, std::uint64_t index) {
  const auto word = philox4x32({low(index), high(index), 0, 0}, {low(seed), high(seed)});
  const std::uint64_t bits = (static_cast<std::uint64_t>(word[0]) << 32) | word[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace lathe::engine
