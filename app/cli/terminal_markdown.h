// SPDX-License-Identifier: Apache-2.0
// Renders Markdown for a terminal: wrapped paragraphs, indented code, tables as columns.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// Units: `width` in columns; at least 40 are used. `styled`: headings and code with ANSI escape sequences.
std::string terminal_markdown(std::string_view markdown, std::size_t width, bool styled);

}  // namespace lathe::app
