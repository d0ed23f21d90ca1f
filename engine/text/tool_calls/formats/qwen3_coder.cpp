// SPDX-License-Identifier: Apache-2.0
// <tool_call><function=name><parameter=key>value</parameter></function></tool_call>: Qwen3-Coder, Qwen3.5.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/named_values.h"

namespace lathe::engine {
namespace {

/// A value stands on lines of its own; the line breaks around it are the format's.
std::string_view without_line_breaks(std::string_view value) {
  if (value.starts_with("\n")) value.remove_prefix(1);
  if (value.ends_with("\n")) value.remove_suffix(1);
  return value;
}

std::optional<std::vector<ToolCall>> parse(std::string_view body, const ArgumentTypes& types) {
  std::vector<ToolCall> calls;
  Markup rest(body);
  for (rest.skip_blanks(); rest.skip("<function="); rest.skip_blanks()) {
    const auto name = rest.until(">");
    if (!name || trimmed(*name).empty()) return std::nullopt;
    NamedValues values(trimmed(*name), types);
    for (rest.skip_blanks(); rest.skip("<parameter="); rest.skip_blanks()) {
      const auto key = rest.until(">");
      const auto value = key ? rest.until("</parameter>") : std::nullopt;
      if (!value) return std::nullopt;
      values.add(trimmed(*key), without_line_breaks(*value));
    }
    if (!rest.skip("</function>")) return std::nullopt;
    calls.push_back(values.call());
  }
  if (calls.empty() || !rest.at_end()) return std::nullopt;
  return calls;
}

}  // namespace

constexpr CallFormat kQwen3CoderCalls = {.name = "qwen3_coder",
                                         .other_names = {"qwen3_xml"},
                                         .telltales = {"<tool_call>", "<function="},
                                         .begins = {"<tool_call>"},
                                         .wraps = {},
                                         .bare = {},
                                         .end_rule = BlockEnd::marker,
                                         .end = "</tool_call>",
                                         .parse = parse};

}  // namespace lathe::engine
