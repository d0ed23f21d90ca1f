// SPDX-License-Identifier: Apache-2.0
// UTF-8 that may be invalid: decoding it character by character, and repairing it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe::engine {

/// One code point read from the front of a text.
struct Utf8Step {
  char32_t code = 0;     ///< U+FFFD if the bytes are invalid
  std::size_t size = 0;  ///< bytes read, at least 1
  bool valid = false;
};

/// Decodes the character that begins at `at`; if its bytes are invalid, reads the longest prefix of a character.
/// Requires: at < text.size(). Source: Unicode 3.9, "maximal subpart".
Utf8Step read_utf8(std::string_view text, std::size_t at);

/// The text with invalid sequences replaced by U+FFFD, one for each maximal subpart.
std::string repaired_utf8(std::string_view text);

}  // namespace lathe::engine
