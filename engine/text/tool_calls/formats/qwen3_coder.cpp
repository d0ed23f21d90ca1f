// SPDX-License-Identifier: Apache-2.0
// <tool_call><function=name><parameter=key>value</parameter></function></tool_call>: Qwen3-Coder, Qwen3.5.
#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {
namespace {

constexpr TagForm kQwen3CoderTags = {.call_open = "<function=",
                                     .name_close = ">",
                                     .call_close = "</function>",
                                     .key_open = "<parameter=",
                                     .key_close = ">",
                                     .value_open = {},
                                     .value_close = "</parameter>",
                                     .value_has_lines = true};

}  // namespace

extern constexpr CallFormat kQwen3CoderCalls = {
    .name = "qwen3_coder",
    .other_names = {"qwen3_xml"},
    .telltales = {"<tool_call>", "<function="},
    .begins = {"<tool_call>"},
    .wraps = {},
    .bare = {},
    .end = "</tool_call>",
    .tags = &kQwen3CoderTags,
    .texts = {{{.call = "<tool_call>$_<function=$name>$_$values</function>$_</tool_call>",
                .between = "$_",
                .value = "<parameter=$key>\n$value\n</parameter>$_",
                .style = ValueStyle::tagged}}}};

}  // namespace lathe::engine
