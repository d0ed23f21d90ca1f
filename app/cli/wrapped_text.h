// SPDX-License-Identifier: Apache-2.0
// WrappedText: words with escape sequences, in lines that are no wider than asked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::app {

/// Columns of a text of UTF-8; escape sequences of ANSI take none.
std::size_t columns_of(std::string_view text);
/// `text` cut at its blanks; a word that is wider than `width` has a line of its own. '\n' ends a line. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace lathe::app
