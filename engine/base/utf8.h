// SPDX-License-Identifier: Apache-2.0
// UTF-8 that may be broken: writing, checking and cutting it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/api/utf8.h"

namespace lathe::engine {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

void append_utf8(std::string& out, char32_t code);

bool is_valid_utf8(std::string_view text);
/// Offset of the first byte that is no UTF-8; text.size() when there is none.
std::size_t first_invalid_utf8(std::string_view text);

/// Bytes at the end that begin a character whose rest may still come: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

/// At most `max_bytes` of the text, cut between characters, with "..." when it was cut; control characters become '?'.
std::string printable_excerpt(std::string_view text, std::size_t max_bytes = 64);

}  // namespace lathe::engine
