// SPDX-License-Identifier: Apache-2.0
// Sets of characters that Oniguruma knows by name, as items of a PCRE2 class: the text between its brackets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// White space of Unicode. PCRE2's own \s also matches U+180E, which has not been white space since Unicode 6.3.
inline constexpr std::string_view kSpaces =
    "\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{2000}-\\x{200a}\\t-\\r";
inline constexpr std::string_view kHexDigits = "0-9A-Fa-f";
/// Characters of words: letters with the numbers and signs that are letters, marks, digits and connectors.
inline constexpr std::string_view kWordCharacters = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
/// Numbers of Latin-1 that Oniguruma also takes for characters of words in \w, \W, \b and \B, but not in a class.
inline constexpr std::string_view kWordNumbers = "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

/// Returns the set of a POSIX bracket such as [:alpha:]; nothing for an unknown name. Case counts.
std::optional<std::string> posix_set(std::string_view name);
/// Returns the set of a property such as \p{Letter}; nothing for an unknown name. Case, blanks, hyphens and underscores do
/// not count. A script's name means the script alone, not its extensions as in PCRE2.
std::optional<std::string> property_set(std::string_view name);

}  // namespace lathe::engine
