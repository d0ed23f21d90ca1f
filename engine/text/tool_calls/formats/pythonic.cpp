// SPDX-License-Identifier: Apache-2.0
// The answer is a Python list of calls with literals: [name(key="value", n=1), other()]: Llama 3.2 and 4, ToolACE.
#include "engine/base/utf8.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr int kPythonicMaxDepth = 64;

bool is_name_character(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (!first && ((c >= '0' && c <= '9') || c == '.' || c == '-'));
}

/// Reads literals and writes JSON. Every reader function returns false if the text is something else.
class PythonReader {
 public:
  PythonReader(const BlockText& block, const ArgumentTypes& types) : block_(block), types_(types), rest_(block.text) {}

  std::optional<std::vector<ToolCall>> calls() {
    std::vector<ToolCall> calls;
    if (!next("[")) return whole_ones({}, {});
    do {
      ToolCall call;
      if (!name(call.name) || !next("(") || !arguments(call.arguments)) return whole_ones(std::move(calls), call.name);
      calls.push_back(std::move(call));
    } while (next(",") && !is_next("]"));
    if (!next("]")) return whole_ones(std::move(calls), {});
    rest_.skip_blanks();
    return rest_.at_end() ? std::optional(std::move(calls)) : std::nullopt;
  }

 private:
  /// Returns the calls before an incomplete one in which the answer ended; nothing if that one cannot become a call.
  std::optional<std::vector<ToolCall>> whole_ones(std::vector<ToolCall> calls, std::string_view half_name) {
    rest_.skip_blanks();
    const bool may_go_on = block_.is_open && rest_.at_end() && (!calls.empty() || types_.may_name_tool(half_name));
    return may_go_on ? std::optional(std::move(calls)) : std::nullopt;
  }

  bool next(std::string_view token) {
    rest_.skip_blanks();
    return rest_.skip(token);
  }
  bool is_next(std::string_view token) {
    rest_.skip_blanks();
    return rest_.rest().starts_with(token);
  }

  bool name(std::string& out) {
    rest_.skip_blanks();
    std::size_t size = 0;
    while (size < rest_.rest().size() && is_name_character(rest_.rest()[size], size == 0)) ++size;
    out = rest_.take(size);
    return size > 0;
  }

  bool arguments(std::string& out) {
    out = "{";
    while (!next(")")) {
      std::string key;
      if (out.size() > 1) {
        if (!next(",")) return false;
        if (next(")")) break;
        out += ", ";
      }
      if (!name(key) || !next("=")) return false;
      out += json_string(key) + ": ";
      if (!value(out, 0)) return false;
    }
    out += "}";
    return true;
  }

  bool value(std::string& out, int depth) {
    if (depth > kPythonicMaxDepth) return false;
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

  bool list(std::string& out, std::string_view end, int depth) {
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

  bool dict(std::string& out, int depth) {
    rest_.take(1);
    out += '{';
    for (bool first = true; !next("}"); first = false) {
      if (!first) {
        if (!next(",")) return false;
        if (next("}")) break;
        out += ", ";
      }
      if (!is_next("\"") && !is_next("'")) return false;
      if (!text(out) || !next(":")) return false;
      out += ": ";
      if (!value(out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  bool text(std::string& out) {
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
  bool escape(std::string& out) {
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
  bool hexadecimal(std::string& out, std::size_t n_digits) {
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

  bool scalar(std::string& out) {
    std::size_t size = 0;
    const std::string_view ahead = rest_.rest();
    while (size < ahead.size() && (is_name_character(ahead[size], false) || ahead[size] == '+')) ++size;
    const std::string_view word = rest_.take(size);
    if (word == "True" || word == "true") out += "true";
    else if (word == "False" || word == "false") out += "false";
    else if (word == "None" || word == "null") out += "null";
    else if (parse_json(word, "")) out += word;
    else return false;
    return true;
  }

  const BlockText& block_;
  const ArgumentTypes& types_;
  Markup rest_;
};

std::optional<std::vector<ToolCall>> parse_pythonic(const BlockText& block, const ArgumentTypes& types) {
  return PythonReader(block, types).calls();
}

}  // namespace

extern constexpr CallFormat kPythonicCalls = {.name = "pythonic",
                                              .other_names = {"llama4_pythonic"},
                                              .telltales = {"[func_name1("},
                                              .begins = {"<|python_start|>"},
                                              .wraps = {"<|python_end|>"},
                                              .bare = "[",
                                              .end_rule = BlockEnd::bracketed,
                                              .end = {},
                                              .parse = parse_pythonic,
                                              .texts = {{{.before = "[",
                                                          .call = "$name($values)",
                                                          .between = ",$_",
                                                          .after = "]",
                                                          .value = "$key=$value",
                                                          .comma = ",$_",
                                                          .style = ValueStyle::python}}}};

}  // namespace lathe::engine
