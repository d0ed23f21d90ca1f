// SPDX-License-Identifier: Apache-2.0
// Floats of golden files, bit by bit.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace lathe::tests {

/// Eight hexadecimal digits each.
inline std::vector<float> floats_of_hex(const std::string& digits) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < digits.size(); i += 8) {
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(digits.substr(i, 8), nullptr, 16))));
  }
  return numbers;
}

}  // namespace lathe::tests
