// SPDX-License-Identifier: Apache-2.0
// Non-finite numbers as Python's json module writes them, which the JSON library does not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// The text with NaN, Infinity, -Infinity and numbers too large for a double replaced, outside of strings, by numbers of the
/// same length that non_finite_of() knows: offsets in errors stay those of the file.
std::string with_finite_spellings(std::string_view text);

/// The value that a number out of such a text encodes; nothing: the number is its own value.
std::optional<double> non_finite_of(std::string_view number);

}  // namespace lathe::engine
