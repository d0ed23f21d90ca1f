// SPDX-License-Identifier: Apache-2.0
// Fuzz targets: every reader of a file that a user may have got from anywhere, the parsers of a model's answers,
// and the compilers of what a request may ask an answer to be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/byte_source.h"

namespace lathe::fuzz {

struct Target {
  std::string_view name;  ///< of its program "fuzz.NAME" and of its folder in corpus/
  /// Reads the bytes as the program would. Whatever they are, it returns: errors are values.
  void (*feed)(std::span<const std::byte> bytes);
  /// The input with a few parts of its structure changed, the same for the same seed; empty where it has no structure. Null:
  /// bytes are all there is to change.
  std::string (*change)(std::string_view input, std::uint32_t seed) = nullptr;
};

std::span<const Target* const> targets();
const Target* find_target(std::string_view name);

}  // namespace lathe::fuzz
