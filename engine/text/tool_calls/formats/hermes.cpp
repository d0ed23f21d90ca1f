// SPDX-License-Identifier: Apache-2.0
// <tool_call>{"name": ..., "arguments": {...}}</tool_call>: Hermes 2 Pro and 3, Qwen 2.5 and 3, SmolLM3.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"

namespace lathe::engine {

extern constexpr CallFormat kHermesCalls = {
    .name = "hermes",
    .telltales = {"<tool_call>"},
    .begins = {"<tool_call>"},
    .wraps = {},
    .bare = {},
    .end_rule = BlockEnd::marker_outside_json,
    .end = "</tool_call>",
    .parse = calls_of_json,
    .texts = {{{.call = "<tool_call>$_{\"name\":$_\"$name\",$_\"arguments\":$_$json}$_</tool_call>", .between = "$_"}}}};

}  // namespace lathe::engine
