// SPDX-License-Identifier: Apache-2.0
// Makes text of strangers harmless for logs, tables and metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lathe::app {

/// Control characters and broken UTF-8 become \xNN; cut between characters after `max_bytes`, with "..." at the end.
std::string escaped(std::string_view text, std::size_t max_bytes = 256);
/// A Prometheus label value: escaped() with backslash, quote and newline as the text format has them.
std::string label_value(std::string_view text);
/// Each byte that belongs to no character becomes U+FFFD.
std::string repaired_utf8(std::string_view text);
/// Code points of a UTF-8 text: the unit of OpenAI's text_offset.
std::size_t count_code_points(std::string_view text);

}  // namespace lathe::app
