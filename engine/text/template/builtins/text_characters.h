// SPDX-License-Identifier: Apache-2.0
// Characters of texts, as Python's methods see them.
#pragma once

#include <unicode/uchar.h>

#include <cstddef>
#include <string_view>

namespace lathe::engine::jinja {

/// str.isspace() of one character.
inline bool is_python_space(char32_t code) {
  return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0 || (code >= 0x1C && code <= 0x1F);
}

/// Returns the index at which the character that ends at `end` begins. Requires: end > 0.
inline std::size_t begin_of_last(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace lathe::engine::jinja
