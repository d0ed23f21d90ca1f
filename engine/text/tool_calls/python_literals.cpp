// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/python_literals.h"

#include "engine/base/utf8.h"
#include "engine/text/tool_calls/argument_types.h"
#include "engine/text/tool_calls/unique_keys.h"

namespace lathe::engine {
namespace {

constexpr int kMaxLiteralDepth = 64;

/// Whether the character may be in a number or a name.
bool is_word_character(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '+';
}

}  // namespace

bool PythonLiterals::next(std::string_view token) {
  rest_.skip_blanks();
  return rest_.skip(token);
}

bool PythonLiterals::is_next(std::string_view token) {
  rest_.skip_blanks();
  return rest_.rest().starts_with(token);
}

bool PythonLiterals::value(std::string& out, int depth) {
  if (depth > kMaxLiteralDepth) return false;
  rest_.skip_blanks();
  if (rest_.at_end()) return false;
  switch (rest_.rest().front()) {
    case '"':
    case '\'': return text(out);
    case '[': return list(out, "]", depth);
    case '(': return list(out, ")", depth);
    case '{': return dict(out, depth);
    default: return scalar(out);
  }
}

bool PythonLiterals::list(std::string& out, std::string_view end, int depth) {
  rest_.take(1);
  out += '[';
  for (bool first = true; !next(end); first = false) {
    if (!first) {
      if (!next(",")) return false;
      if (next(end)) break;
      out += ", ";
    }
    if (!value(out, depth + 1)) return false;
  }
  out += ']';
  return true;
}

bool PythonLiterals::dict(std::string& out, int depth) {
  rest_.take(1);
  out += '{';
  for (bool first = true; !next("}"); first = false) {
    if (!first) {
      if (!next(",")) return false;
      if (next("}")) break;
      out += ", ";
    }
    if (!key(out) || !next(":")) return false;
    out += ": ";
    if (!value(out, depth + 1)) return false;
  }
  out += '}';
  return true;
}

/// Reads a key: a text, or a scalar, which becomes the text of its JSON.
bool PythonLiterals::key(std::string& out) {
  if (is_next("\"") || is_next("'")) return text(out);
  std::string json;
  if (!scalar(json)) return false;
  out += json_string(json);
  return true;
}

bool PythonLiterals::text(std::string& out) {
  const char quote = rest_.take(1).front();
  std::string content;
  while (!rest_.at_end()) {
    const char c = rest_.take(1).front();
    if (c == quote) {
      out += json_string(content);
      return true;
    }
    if (c != '\\') content += c;
    else if (!escape(content)) return false;
  }
  return false;
}

/// Reads an escape. Python keeps the backslash of an unknown escape.
bool PythonLiterals::escape(std::string& out) {
  if (rest_.at_end()) return false;
  const char c = rest_.take(1).front();
  constexpr std::string_view kLetters = "nrtbf\\'\"0av", kCharacters("\n\r\t\b\f\\'\"\0\a\v", 11);
  if (c == 'x' || c == 'u' || c == 'U') return hexadecimal(out, c == 'x' ? 2 : c == 'u' ? 4 : 8);
  if (c == '\n') return true;
  const std::size_t known = kLetters.find(c);
  if (known == kLetters.npos) (out += '\\') += c;
  else out += kCharacters[known];
  return true;
}

/// Where the text ends within the digits, all of it is taken: the escape may be half of one.
bool PythonLiterals::hexadecimal(std::string& out, std::size_t n_digits) {
  char32_t code = 0;
  for (; n_digits > 0 && !rest_.at_end(); --n_digits) {
    const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(rest_.rest().front());
    if (digit == std::string_view::npos) return false;
    code = code * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
    rest_.take(1);
  }
  if (n_digits > 0) return false;
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  append_utf8(out, code);
  return true;
}

bool PythonLiterals::scalar(std::string& out) {
  std::size_t size = 0;
  const std::string_view ahead = rest_.rest();
  while (size < ahead.size() && is_word_character(ahead[size])) ++size;
  const std::string_view word = rest_.take(size);
  if (word == "True" || word == "true") out += "true";
  else if (word == "False" || word == "false") out += "false";
  else if (word == "None" || word == "null") out += "null";
  else if (json_with_unique_keys(word)) out += word;
  else return false;
  return true;
}

std::optional<std::string> json_of_python_container(std::string_view text) {
  Markup rest(trimmed(text));
  if (rest.at_end() || std::string_view("[({").find(rest.rest().front()) == std::string_view::npos) return std::nullopt;
  std::string out;
  if (!PythonLiterals(rest).value(out) || !rest.at_end()) return std::nullopt;
  return json_with_unique_keys(out);
}

}  // namespace lathe::engine
