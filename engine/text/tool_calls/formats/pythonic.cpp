// SPDX-License-Identifier: Apache-2.0
// The answer is a Python list of calls with literals: [name(key="value", n=1), other()]: Llama 3.2 and 4, ToolACE.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/python_literals.h"
#include "engine/text/tool_calls/unique_keys.h"

namespace lathe::engine {
namespace {

bool is_name_character(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (!first && ((c >= '0' && c <= '9') || c == '.' || c == '-'));
}

/// Reads calls. Every reader function returns false if the text is something else.
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
    } while (next(",") && !literals_.is_next("]"));
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

  bool next(std::string_view token) { return literals_.next(token); }

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
      if (!literals_.value(out)) return false;
    }
    out += "}";
    out = json_with_unique_keys(out).value_or(out);
    return true;
  }

  const BlockText& block_;
  const ArgumentTypes& types_;
  Markup rest_;
  PythonLiterals literals_{rest_};
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
