// SPDX-License-Identifier: Apache-2.0
// [TOOL_CALLS][{"name": ..., "arguments": {...}}], and since tokenizer v11 [TOOL_CALLS]name[CALL_ID]id[ARGS]{...} for each
// call: Mistral and Mixtral.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

std::optional<std::vector<ToolCall>> parse_mistral(const BlockText& block, const ArgumentTypes& types) {
  const std::string_view body = trimmed(block.text);
  if (body.starts_with("[") || body.starts_with("{")) return calls_of_json(block, types);
  const std::size_t begin = body.find('{');
  const bool has_words = body.find_first_of(" \n\t") < begin;
  if (begin == body.npos) return has_words ? std::nullopt : no_call_or_half(block);
  auto arguments = arguments_of_json(body.substr(begin));
  if (!arguments) return no_call_or_half(block);
  std::string_view name = trimmed(body.substr(0, begin));
  if (name.ends_with("[ARGS]")) name.remove_suffix(6);
  std::string_view id;
  if (const std::size_t at = name.find("[CALL_ID]"); at != name.npos) {
    id = trimmed(name.substr(at + 9));
    name = name.substr(0, at);
  }
  name = trimmed(name);
  if (name.empty()) return std::nullopt;
  return std::vector<ToolCall>{{std::string(name), std::move(*arguments), std::string(id)}};
}

}  // namespace

extern constexpr CallFormat kMistralCalls = {.name = "mistral",
                                             .telltales = {"[TOOL_CALLS]"},
                                             .begins = {"[TOOL_CALLS]"},
                                             .wraps = {},
                                             .bare = {},
                                             .end_rule = BlockEnd::json_value,
                                             .head = BlockHead::json_or_name,
                                             .end = {},
                                             .inner = {"[CALL_ID]", "[ARGS]"},
                                             .parse = parse_mistral,
                                             .ids = CallIds::nine_characters,
                                             .texts = {{{.needs = "[ARGS]", .call = "[TOOL_CALLS]$name[ARGS]$json"},
                                                        {.before = "[TOOL_CALLS]$_[",
                                                         .call = "{\"name\":$_\"$name\",$_\"arguments\":$_$json}",
                                                         .between = ",$_",
                                                         .after = "]"}}}};

}  // namespace lathe::engine
