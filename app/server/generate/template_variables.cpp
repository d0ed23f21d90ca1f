// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/template_variables.h"

#include <algorithm>

namespace lathe::app {
namespace {

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Returns the offset after the string that begins at `at`.
std::size_t end_of_string(std::string_view source, std::size_t at) {
  const char quote = source[at++];
  while (at < source.size() && source[at] != quote) at += source[at] == '\\' ? 2 : 1;
  return std::min(at + 1, source.size());
}

/// Searches a tag from `at` on. Returns the offset of its end, or npos if the name was found.
std::size_t search_tag(std::string_view source, std::size_t at, std::string_view close, std::string_view name) {
  char before = ' ';  // last character that is no blank
  while (at < source.size() && !source.substr(at).starts_with(close)) {
    const char c = source[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(source, at);
    } else if (is_name_character(c)) {
      std::size_t end = at;
      while (end < source.size() && is_name_character(source[end])) ++end;
      if (before != '.' && source.substr(at, end - at) == name) return std::string_view::npos;
      at = end;
    } else {
      ++at;
    }
    if (c != ' ' && c != '\n') before = c;
  }
  return std::min(at + close.size(), source.size());
}

}  // namespace

bool reads_variable(std::string_view source, std::string_view name) {
  std::size_t at = 0;
  while ((at = source.find('{', at)) < source.size()) {
    const std::string_view open = source.substr(at, 2);
    if (open == "{#") {
      at = std::min(source.find("#}", at), source.size());
    } else if (open == "{{" || open == "{%") {
      at = search_tag(source, at + 2, open == "{{" ? "}}" : "%}", name);
      if (at == std::string_view::npos) return true;
    } else {
      ++at;
    }
  }
  return false;
}

}  // namespace lathe::app
