// SPDX-License-Identifier: Apache-2.0
#include "app/server/escape.h"

#include <algorithm>

namespace lathe::app {
namespace {

/// Bytes of the well-formed character at the front (RFC 3629); 0: there is none.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0, surrogate = first == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90, beyond = first == 0xF4 && byte(1) > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void append_hex(std::string& out, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  out.append("\\x").push_back(digits[byte >> 4]);
  out.push_back(digits[byte & 15]);
}

}  // namespace

std::string escaped(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= max_bytes) return out + "...";
    const std::size_t size = character_size(text);
    const auto first = static_cast<unsigned char>(text.front());
    // U+0080..U+009F are control characters too: some terminals obey them.
    const bool control =
        first < 0x20 || first == 0x7F || (size == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (size == 0 || control) {
      for (std::size_t i = 0; i < std::max<std::size_t>(size, 1); ++i) append_hex(out, static_cast<unsigned char>(text[i]));
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : escaped(text, 128)) {
    if (c == '\\' || c == '"') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string repaired_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    out.append(size == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, size));
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace lathe::app
