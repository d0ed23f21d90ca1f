// SPDX-License-Identifier: Apache-2.0
// Escapes and counts text as the server's protocols and examples require.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe::app {

/// Returns a Prometheus label value: printable(), with backslash and quote escaped by the rules of the text format.
std::string label_value(std::string_view text);
/// Quotes text for a shell, in single quotes.
std::string shell_quoted(std::string_view text);
/// Counts the code points of a UTF-8 text, the unit of OpenAI's text_offset.
std::size_t count_code_points(std::string_view text);

}  // namespace lathe::app
