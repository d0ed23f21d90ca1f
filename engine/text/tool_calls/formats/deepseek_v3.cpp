// SPDX-License-Identifier: Apache-2.0
// <｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}<｜tool▁call▁end｜>; V3 and R1 write the type before the name, and the
// arguments in a Markdown code block of JSON.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kDeepseekSeparator = "<｜tool▁sep｜>";

std::optional<std::vector<ToolCall>> parse_deepseek_v3(const BlockText& block, const ArgumentTypes&) {
  Markup rest(block);
  const auto head = rest.until(kDeepseekSeparator);
  if (!head) return no_call_or_half(block);
  std::string_view name = trimmed(*head), json = trimmed(rest.rest());
  if (Markup fence(json); name == "function") {
    const auto line = fence.until("\n");
    if (!line || !fence.skip("```json")) return no_call_or_half(block);
    name = trimmed(*line);
    json = trimmed(fence.rest());
    if (json.ends_with("```")) json.remove_suffix(3);
  }
  auto arguments = arguments_of_json(json);
  if (name.empty() || !arguments) return no_call_or_half(block);
  return std::vector<ToolCall>{{std::string(name), std::move(*arguments), {}}};
}

}  // namespace

extern constexpr CallFormat kDeepseekV3Calls = {
    .name = "deepseek_v3",
    .other_names = {"deepseek_v31"},
    .telltales = {"<｜tool▁call▁begin｜>"},
    .begins = {"<｜tool▁call▁begin｜>"},
    .wraps = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"},
    .bare = {},
    .end_rule = BlockEnd::marker_outside_json,
    .head = BlockHead::name,
    .end = "<｜tool▁call▁end｜>",
    .inner = {kDeepseekSeparator},
    .parse = parse_deepseek_v3,
    .texts = {{{.before = "<｜tool▁calls▁begin｜>",
                .call = "<｜tool▁call▁begin｜>$name<｜tool▁sep｜>$json<｜tool▁call▁end｜>",
                .other_call = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$json\n```<｜tool▁call▁end｜>",
                .between = "$_",
                .after = "<｜tool▁calls▁end｜>"}}}};

}  // namespace lathe::engine
