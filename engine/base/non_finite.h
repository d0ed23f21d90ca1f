// SPDX-License-Identifier: Apache-2.0
// Reads non-finite numbers as Python's json module writes them; the JSON library does not accept them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// Replaces NaN, Infinity, -Infinity and numbers too large for a double, outside of strings, by numbers of the same length
/// that non_finite_of() recognises: offsets in errors remain those of the file.
std::string with_finite_spellings(std::string_view text);

/// The value that a number in such a text encodes; nothing: the number is its own value.
std::optional<double> non_finite_of(std::string_view number);

}  // namespace lathe::engine
