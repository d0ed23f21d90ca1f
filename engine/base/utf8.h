// SPDX-License-Identifier: Apache-2.0
// Writes, checks and truncates UTF-8 that may be invalid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/api/utf8.h"

namespace lathe::engine {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

void append_utf8(std::string& out, char32_t code);

bool is_valid_utf8(std::string_view text);
/// Offset of the first byte that is not UTF-8; text.size() if the text is valid.
std::size_t first_invalid_utf8(std::string_view text);

/// Number of bytes at the end that are the beginning of an incomplete character: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

/// Shortens a text to at most `max_bytes` between characters; a shortened text gets "..." in addition. Control characters
/// and invalid bytes become '?'.
std::string printable_excerpt(std::string_view text, std::size_t max_bytes = 64);

}  // namespace lathe::engine
