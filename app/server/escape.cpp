// SPDX-License-Identifier: Apache-2.0
#include "app/server/escape.h"

#include <algorithm>

#include "app/log/printable.h"

namespace lathe::app {

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : printable(text, 128)) {
    if (c == '\\' || c == '"') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out.push_back(c);
  }
  return out + "'";
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace lathe::app
