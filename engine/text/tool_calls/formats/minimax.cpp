// SPDX-License-Identifier: Apache-2.0
// <tool_calls>, one line of {"name": ..., "arguments": {...}} per call, </tool_calls>: MiniMax-M1.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"

namespace lathe::engine {

extern constexpr CallFormat kMinimaxCalls = {.name = "minimax",
                                             .telltales = {"<tool_calls>"},
                                             .begins = {"<tool_calls>"},
                                             .wraps = {},
                                             .bare = {},
                                             .end_rule = BlockEnd::marker_outside_json,
                                             .end = "</tool_calls>",
                                             .parse = calls_of_json,
                                             .texts = {{{.before = "<tool_calls>$_",
                                                         .call = "{\"name\":$_\"$name\",$_\"arguments\":$_$json}$_",
                                                         .after = "</tool_calls>"}}}};

}  // namespace lathe::engine
