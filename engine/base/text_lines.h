// SPDX-License-Identifier: Apache-2.0
// Iterates over the lines of a text with "\n" or "\r\n" as line ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// Calls take(line, number) for each line until a call fails; numbers start at 1, lines have no line end. Errors: as take.
template <class Take>
Result<void> for_each_line(std::string_view text, const Take& take) {
  for (std::size_t n = 1; !text.empty(); ++n) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    LATHE_TRY_VOID(take(line, n));
  }
  return {};
}

}  // namespace lathe::engine
