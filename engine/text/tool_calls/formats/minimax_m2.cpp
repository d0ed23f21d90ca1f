// SPDX-License-Identifier: Apache-2.0
// <minimax:tool_call><invoke name="name"><parameter name="key">value</parameter></invoke></minimax:tool_call>: MiniMax-M2.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/named_values.h"

namespace lathe::engine {
namespace {

std::string_view without_quotes(std::string_view name) {
  name = trimmed(name);
  return name.size() >= 2 && name.front() == '"' && name.back() == '"' ? name.substr(1, name.size() - 2) : name;
}

std::optional<std::vector<ToolCall>> parse(std::string_view body, const ArgumentTypes& types) {
  std::vector<ToolCall> calls;
  Markup rest(body);
  for (rest.skip_blanks(); rest.skip("<invoke name="); rest.skip_blanks()) {
    const auto name = rest.until(">");
    if (!name || without_quotes(*name).empty()) return std::nullopt;
    NamedValues values(without_quotes(*name), types);
    for (rest.skip_blanks(); rest.skip("<parameter name="); rest.skip_blanks()) {
      const auto key = rest.until(">");
      const auto value = key ? rest.until("</parameter>") : std::nullopt;
      if (!value) return std::nullopt;
      values.add(without_quotes(*key), *value);
    }
    if (!rest.skip("</invoke>")) return std::nullopt;
    calls.push_back(values.call());
  }
  if (calls.empty() || !rest.at_end()) return std::nullopt;
  return calls;
}

}  // namespace

constexpr CallFormat kMinimaxM2Calls = {.name = "minimax_m2",
                                        .telltales = {"<minimax:tool_call>"},
                                        .begins = {"<minimax:tool_call>"},
                                        .wraps = {},
                                        .bare = {},
                                        .end_rule = BlockEnd::marker,
                                        .end = "</minimax:tool_call>",
                                        .parse = parse};

}  // namespace lathe::engine
