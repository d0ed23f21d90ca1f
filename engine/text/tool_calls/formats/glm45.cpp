// SPDX-License-Identifier: Apache-2.0
// <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>: GLM-4.5 and later.
#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {
namespace {

constexpr TagForm kGlm45Tags = {.call_open = {},
                                .name_close = {},
                                .call_close = {},
                                .key_open = "<arg_key>",
                                .key_close = "</arg_key>",
                                .value_open = "<arg_value>",
                                .value_close = "</arg_value>"};

}  // namespace

extern constexpr CallFormat kGlm45Calls = {.name = "glm45",
                                           .other_names = {"glm47"},
                                           .telltales = {"<tool_call>", "<arg_key>"},
                                           .begins = {"<tool_call>"},
                                           .wraps = {},
                                           .bare = {},
                                           .end = "</tool_call>",
                                           .tags = &kGlm45Tags,
                                           .texts = {{{.call = "<tool_call>$name$_$values</tool_call>",
                                                       .between = "$_",
                                                       .value = "<arg_key>$key</arg_key>$_<arg_value>$value</arg_value>$_",
                                                       .style = ValueStyle::tagged}}}};

}  // namespace lathe::engine
