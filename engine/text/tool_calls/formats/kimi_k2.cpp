// SPDX-License-Identifier: Apache-2.0
// <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>: Kimi K2, which makes its own ids.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kKimiSeparator = "<|tool_call_argument_begin|>";

std::optional<std::vector<ToolCall>> parse_kimi_k2(const BlockText& block, const ArgumentTypes&) {
  Markup rest(block);
  const auto head = rest.until(kKimiSeparator);
  if (!head) return no_call_or_half(block);
  const std::string_view id = trimmed(*head);
  std::string_view name = id.substr(0, id.rfind(':'));
  if (name.starts_with("functions.")) name.remove_prefix(10);
  auto arguments = arguments_of_json(rest.rest());
  if (name.empty() || !arguments) return no_call_or_half(block);
  return std::vector<ToolCall>{{std::string(name), std::move(*arguments), std::string(id)}};
}

}  // namespace

extern constexpr CallFormat kKimiK2Calls = {
    .name = "kimi_k2",
    .telltales = {"<|tool_calls_section_begin|>"},
    .begins = {"<|tool_call_begin|>"},
    .wraps = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"},
    .bare = {},
    .end_rule = BlockEnd::marker_outside_json,
    .head = BlockHead::name,
    .end = "<|tool_call_end|>",
    .inner = {kKimiSeparator},
    .parse = parse_kimi_k2,
    .ids = CallIds::name_and_index,
    .texts = {{{.before = "<|tool_calls_section_begin|>",
                .call = "<|tool_call_begin|>functions.$name:$index<|tool_call_argument_begin|>$json<|tool_call_end|>",
                .after = "<|tool_calls_section_end|>"}}}};

}  // namespace lathe::engine
