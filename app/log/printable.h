// SPDX-License-Identifier: Apache-2.0
// Text that is safe to write to a terminal or a log line: one line, no control characters.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// Control characters (C0, DEL, C1) become \n, \t or \xNN; longer text than `max_bytes` is cut at a character and marked.
std::string printable(std::string_view text, std::size_t max_bytes = 8192);

}  // namespace lathe::app
