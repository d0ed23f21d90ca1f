// SPDX-License-Identifier: Apache-2.0
// UTF-8 that may be broken: reading it character by character, and repairing it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe::engine {

/// One code point read from the front of a text.
struct Utf8Step {
  char32_t code = 0;     ///< U+FFFD where the bytes are no character
  std::size_t size = 0;  ///< bytes read, at least 1
  bool valid = false;
};

/// Reads the character that begins at `at`; of broken bytes the longest prefix of a character (Unicode 3.9, "maximal
/// subpart"). Requires: at < text.size().
Utf8Step read_utf8(std::string_view text, std::size_t at);

/// Broken sequences become U+FFFD, one for each maximal subpart.
std::string repaired_utf8(std::string_view text);

}  // namespace lathe::engine
