// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/text_cursor.h"

#include "engine/api/utf8.h"
#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

char32_t TextCursor::take_character() {
  const Utf8Step step = read_utf8(text_, at_);
  if (!step.valid) refuse("the bytes are not UTF-8");
  at_ += step.size;
  return step.code;
}

char32_t TextCursor::take_hex(int n) {
  char32_t value = 0;
  for (int i = 0; i < n; ++i) {
    const char c = peek();
    const bool is_digit = c >= '0' && c <= '9', is_lower = c >= 'a' && c <= 'f', is_upper = c >= 'A' && c <= 'F';
    if (!is_digit && !is_lower && !is_upper) {
      refuse(fmt::format("{} hexadecimal digits must follow", n));
      return value;
    }
    value = value * 16 + static_cast<char32_t>(is_digit ? c - '0' : is_lower ? c - 'a' + 10 : c - 'A' + 10);
    skip();
  }
  if (value > kLastCodePoint) refuse("the number is no code point: the last one is 10FFFF");
  return value;
}

std::optional<std::int32_t> TextCursor::take_number() {
  if (peek() < '0' || peek() > '9') return std::nullopt;
  const std::size_t begin = at_;
  std::int64_t value = 0;
  for (; peek() >= '0' && peek() <= '9'; skip()) value = std::min<std::int64_t>(value * 10 + (peek() - '0'), kMaxCount + 1);
  if (value > kMaxCount) refuse_at(begin, fmt::format("a count may be at most {}", kMaxCount));
  return static_cast<std::int32_t>(value);
}

}  // namespace lathe::engine::grammar
