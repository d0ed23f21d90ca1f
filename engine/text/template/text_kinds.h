// SPDX-License-Identifier: Apache-2.0
// Methods that ask what characters a text is made of: isdigit() and its like.
#pragma once

#include <string_view>

#include "engine/text/template/methods.h"

namespace lathe::engine::jinja {

/// Null when there is none.
Method find_text_kind(std::string_view name);

/// \w and \d of Python's regular expressions.
bool is_word_character(char32_t code);
bool is_decimal_digit(char32_t code);
/// str.isupper(), str.islower(): some letter has a case, and all that have one have this.
bool is_all_upper(Runtime& runtime, const MarkedText& text);
bool is_all_lower(Runtime& runtime, const MarkedText& text);

}  // namespace lathe::engine::jinja
