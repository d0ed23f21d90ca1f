// SPDX-License-Identifier: Apache-2.0
// gpt-oss writes messages with channels and recipients (harmony): harmony_parser reads the whole answer, so this row has no
// markers.
#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {

extern constexpr CallFormat kOpenaiCalls = {
    .name = "openai",
    .telltales = {"<|channel|>", "<|message|>"},
    .begins = {},
    .wraps = {},
    .bare = {},
    .end = {},
    .texts = {{{.call = "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$json<|call|>",
                .lead = "<|channel|>analysis<|message|>$text<|end|><|start|>assistant",
                .content = "<|channel|>final<|message|>$text"}}}};

}  // namespace lathe::engine
