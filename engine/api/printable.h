// SPDX-License-Identifier: Apache-2.0
// Makes untrusted text safe for a terminal, a log line, a table or a label: one line of UTF-8, no control characters.
#pragma once

#include <string>
#include <string_view>

namespace lathe::engine {

/// Replaces control characters (C0, DEL, C1) and invalid UTF-8 by "\n", "\t", "\r" or "\xNN" per byte. Text longer than
/// `max_bytes` is cut at a character and marked.
std::string printable(std::string_view text, std::size_t max_bytes = 8192);

}  // namespace lathe::engine
