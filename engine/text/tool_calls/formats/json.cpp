// SPDX-License-Identifier: Apache-2.0
// The answer is JSON: an object with a name and arguments, or a list of such objects. For models whose prompt asks for this
// in plain language.
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"

namespace lathe::engine {

extern constexpr CallFormat kJsonCalls = {
    .name = "json",
    .telltales = {},
    .begins = {},
    .wraps = {},
    .bare = "{[",
    .separator = ';',
    .end_rule = BlockEnd::json_value,
    .end = {},
    .parse = bare_calls_of_json,
    .texts = {{{.before = "[", .call = "{\"name\":$_\"$name\",$_\"arguments\":$_$json}", .between = ",$_", .after = "]"}}}};

}  // namespace lathe::engine
