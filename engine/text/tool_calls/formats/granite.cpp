// SPDX-License-Identifier: Apache-2.0
// <|tool_call|>[{"name": ..., "arguments": {...}}]: Granite 3; 3.0 wrote <tool_call>.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"

namespace lathe::engine {

extern constexpr CallFormat kGraniteCalls = {.name = "granite",
                                             .telltales = {"<|tool_call|>"},
                                             .begins = {"<|tool_call|>", "<tool_call>"},
                                             .wraps = {},
                                             .bare = {},
                                             .end_rule = BlockEnd::json_value,
                                             .end = {},
                                             .parse = calls_of_json,
                                             .texts = {{{.before = "<|tool_call|>$_[",
                                                         .call = "{\"name\":$_\"$name\",$_\"arguments\":$_$json}",
                                                         .between = ",$_",
                                                         .after = "]"}}}};

}  // namespace lathe::engine
