// SPDX-License-Identifier: Apache-2.0
// Methods that test which characters a text consists of: isdigit() and similar ones.
#pragma once

#include <string_view>

#include "engine/text/template/builtins/methods.h"

namespace lathe::engine::jinja {

/// Returns null for an unknown method.
Method find_text_kind(std::string_view name);

/// Matches \w and \d of Python's regular expressions.
bool is_word_character(char32_t code);
bool is_decimal_digit(char32_t code);
/// Implements str.isupper() and str.islower(): at least one letter has a case, and all cased letters have this one.
bool is_all_upper(Runtime& runtime, const MarkedText& text);
bool is_all_lower(Runtime& runtime, const MarkedText& text);

}  // namespace lathe::engine::jinja
