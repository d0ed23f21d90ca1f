// SPDX-License-Identifier: Apache-2.0
// Writes safetensors files of any header, right or wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lathe::tests {

/// A header length as the file stores it, whatever follows.
inline std::string length_prefix(std::uint64_t n) {
  std::string bytes(sizeof n, '\0');
  std::memcpy(bytes.data(), &n, sizeof n);
  return bytes;
}

/// Length, header, `n_data` bytes of data that count up.
inline std::string safetensors_bytes(std::string_view header, std::size_t n_data) {
  std::string bytes = length_prefix(header.size()) + std::string(header);
  for (std::size_t i = 0; i < n_data; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

}  // namespace lathe::tests
