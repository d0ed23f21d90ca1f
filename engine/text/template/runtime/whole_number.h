// SPDX-License-Identifier: Apache-2.0
// Whole numbers of any length as decimal digits, after "-" if they are negative: what values beyond 64 bits are.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine::jinja {

/// Python's limit for the digits of a text that becomes a whole number.
inline constexpr std::size_t kMaxWholeDigits = 4300;

/// Returns the digits without zeros before them; nothing if `text` is not a sign and digits.
std::optional<std::string> whole_digits(std::string_view text);

/// Requires: both come from whole_digits().
std::strong_ordering compare_whole(std::string_view a, std::string_view b);

/// Compares exactly, as Python does: the number is not rounded to a double.
std::partial_ordering compare_whole(std::string_view a, double b);

}  // namespace lathe::engine::jinja
