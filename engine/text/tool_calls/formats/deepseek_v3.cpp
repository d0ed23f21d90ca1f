// SPDX-License-Identifier: Apache-2.0
// <｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}<｜tool▁call▁end｜>; V3 and R1 write the type before the name, and the
// arguments in a Markdown block of JSON.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

std::optional<std::vector<ToolCall>> parse(std::string_view body, const ArgumentTypes&) {
  Markup rest(body);
  const auto head = rest.until("<｜tool▁sep｜>");
  if (!head) return std::nullopt;
  std::string_view name = trimmed(*head), json = trimmed(rest.rest());
  if (Markup block(json); name == "function") {
    const auto line = block.until("\n");
    if (!line || !block.skip("```json")) return std::nullopt;
    name = trimmed(*line);
    json = trimmed(block.rest());
    if (json.ends_with("```")) json.remove_suffix(3);
  }
  auto arguments = arguments_of_json(json);
  if (name.empty() || !arguments) return std::nullopt;
  return std::vector<ToolCall>{{std::string(name), std::move(*arguments), {}}};
}

}  // namespace

constexpr CallFormat kDeepseekV3Calls = {.name = "deepseek_v3",
                                         .other_names = {"deepseek_v31"},
                                         .telltales = {"<｜tool▁call▁begin｜>"},
                                         .begins = {"<｜tool▁call▁begin｜>"},
                                         .wraps = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
                                         .bare = {},
                                         .end_rule = BlockEnd::marker_outside_strings,
                                         .end = "<｜tool▁call▁end｜>",
                                         .parse = parse};

}  // namespace lathe::engine
