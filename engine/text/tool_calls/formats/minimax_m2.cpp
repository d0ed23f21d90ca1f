// SPDX-License-Identifier: Apache-2.0
// <minimax:tool_call><invoke name="name"><parameter name="key">value</parameter></invoke></minimax:tool_call>: MiniMax-M2.
#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {
namespace {

constexpr TagForm kMiniMaxM2Tags = {.call_open = "<invoke name=",
                                    .name_close = ">",
                                    .call_close = "</invoke>",
                                    .key_open = "<parameter name=",
                                    .key_close = ">",
                                    .value_open = {},
                                    .value_close = "</parameter>",
                                    .names_have_quotes = true};

}  // namespace

extern constexpr CallFormat kMinimaxM2Calls = {.name = "minimax_m2",
                                               .telltales = {"<minimax:tool_call>"},
                                               .begins = {"<minimax:tool_call>"},
                                               .wraps = {},
                                               .bare = {},
                                               .end = "</minimax:tool_call>",
                                               .tags = &kMiniMaxM2Tags,
                                               .texts = {{{.before = "<minimax:tool_call>$_",
                                                           .call = "<invoke name=\"$name\">$_$values</invoke>$_",
                                                           .after = "</minimax:tool_call>",
                                                           .value = "<parameter name=\"$key\">$value</parameter>$_",
                                                           .style = ValueStyle::tagged}}}};

}  // namespace lathe::engine
