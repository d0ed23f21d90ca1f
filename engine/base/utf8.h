// SPDX-License-Identifier: Apache-2.0
// UTF-8: checking, cutting and repairing bytes that may be broken.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe::engine {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

/// One code point read from the front of a text.
struct Utf8Step {
  char32_t code = 0;     ///< U+FFFD where the bytes are no character
  std::size_t size = 0;  ///< bytes read, at least 1
  bool valid = false;
};

/// Reads the character that begins at `at`; of broken bytes the longest prefix of a character (Unicode 3.9, "maximal
/// subpart"). Requires: at < text.size().
Utf8Step read_utf8(std::string_view text, std::size_t at);
void append_utf8(std::string& out, char32_t code);

bool is_valid_utf8(std::string_view text);
/// Offset of the first byte that is no UTF-8; text.size() when there is none.
std::size_t first_invalid_utf8(std::string_view text);
/// Broken sequences become U+FFFD.
std::string repaired_utf8(std::string_view text);

/// Bytes at the end that begin a character whose rest may still come: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

/// At most `max_bytes` of the text, cut between characters, with "..." when it was cut; control characters become '?'.
std::string printable_excerpt(std::string_view text, std::size_t max_bytes = 64);

}  // namespace lathe::engine
