// SPDX-License-Identifier: Apache-2.0
// The lines of a text, however they end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// Calls take(line, number from 1) for each until one fails; lines come without "\n" and "\r\n". Errors: those of take.
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
