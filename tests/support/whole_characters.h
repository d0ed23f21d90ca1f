// SPDX-License-Identifier: Apache-2.0
// Whole characters of a text that comes byte by byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/byte_tokenizer.h"

namespace lathe::tests {

/// Bytes at the front that are whole UTF-8 characters. Requires: the text is UTF-8 that may be cut at its end.
inline std::size_t whole_characters(std::string_view text) {
  std::size_t start = text.size();
  for (std::size_t back = 1; back <= std::min<std::size_t>(4, text.size()); ++back) {
    if ((static_cast<unsigned char>(text[text.size() - back]) & 0xC0u) == 0x80u) continue;
    start = text.size() - back;
    break;
  }
  if (start == text.size()) return start;
  const auto first = static_cast<unsigned char>(text[start]);
  const std::size_t needed = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return text.size() - start >= needed ? text.size() : start;
}

/// Whole characters of the first n tokens, which are bytes, and control tokens without text.
inline std::int64_t characters_of(const std::vector<std::int32_t>& ids, std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    if (ids[i] < ByteTokenizer::kBos) text.push_back(static_cast<char>(ids[i]));
  }
  text.resize(whole_characters(text));
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; });
}

}  // namespace lathe::tests
