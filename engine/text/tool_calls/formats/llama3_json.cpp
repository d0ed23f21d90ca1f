// SPDX-License-Identifier: Apache-2.0
// The answer is {"name": ..., "parameters": {...}}, several calls with ";" between them, perhaps after <|python_tag|>: Llama
// 3.1 to 3.3.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"

namespace lathe::engine {

extern constexpr CallFormat kLlama3JsonCalls = {
    .name = "llama3_json",
    .other_names = {"llama4_json"},
    .telltales = {"\"parameters\": dictionary of argument name"},
    .begins = {"<|python_tag|>"},
    .wraps = {},
    .bare = "{",
    .separator = ';',
    .end_rule = BlockEnd::json_value,
    .end = {},
    .parse = bare_calls_of_json,
    .texts = {{{.call = "{\"name\":$_\"$name\",$_\"parameters\":$_$json}", .between = ";$_"}}}};

}  // namespace lathe::engine
