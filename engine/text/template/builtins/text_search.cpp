// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/text_search.h"

#include <cstring>
#include <string>

namespace lathe::engine::jinja {

std::size_t find_part(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  // For one byte memchr is faster than memmem.
  if (part.size() == 1) return text.find(part.front(), from);
  // std::string::find compares the whole part at every occurrence of its first byte; glibc's memmem does not.
  const void* found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t find_last_part(std::string_view text, std::string_view part) {
  const std::string back_text(text.rbegin(), text.rend()), back_part(part.rbegin(), part.rend());
  const std::size_t found = find_part(back_text, back_part);
  return found == std::string_view::npos ? found : text.size() - found - part.size();
}

}  // namespace lathe::engine::jinja
