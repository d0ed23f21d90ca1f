// SPDX-License-Identifier: Apache-2.0
// any_word: searches a list that a row of a table has as one text: "0 -1".
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace lathe::engine {

/// Calls `use(word)` for each word of a list separated by blanks until one returns true. False: none did.
template <class Use>
bool any_word(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (end > 0 && use(list.substr(0, end))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace lathe::engine
