// SPDX-License-Identifier: Apache-2.0
#include "app/cli/wrapped_text.h"

#include <algorithm>

namespace lathe::app {

std::size_t columns_of(std::string_view text) {
  std::size_t n = 0;
  bool in_escape = false;
  for (const char c : text) {
    if (c == '\x1b') in_escape = true;
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!in_escape && !continues) ++n;
    if (c == 'm') in_escape = false;
  }
  return n;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t start = 0; start < text.size();) {
    if (text[start] == '\n') {
      lines.emplace_back();
      ++start;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", start), text.size());
    const std::string_view word = text.substr(start, end - start);
    std::string& line = lines.back();
    if (!word.empty()) {
      if (line.empty()) line = word;
      else if (columns_of(line) + 1 + columns_of(word) <= width) line.append(" ").append(word);
      else lines.emplace_back(word);
    }
    start = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return lines;
}

}  // namespace lathe::app
