// SPDX-License-Identifier: Apache-2.0
// Wraps text with escape sequences into lines of limited width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::app {

/// Returns the columns of a UTF-8 text; ANSI escape sequences take none.
std::size_t columns_of(std::string_view text);
/// Splits `text` at its blanks; a word wider than `width` has its own line. '
/// ' ends a line. Returns at least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace lathe::app
