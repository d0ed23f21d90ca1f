// SPDX-License-Identifier: Apache-2.0
// gpt-oss writes messages with channels and recipients (harmony): harmony_parser reads the whole answer, so this row has no
// markers.
#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {

extern constexpr CallFormat kOpenaiCalls = {
    .name = "openai", .telltales = {"<|channel|>", "<|message|>"}, .begins = {}, .wraps = {}, .bare = {}, .end = {}};

}  // namespace lathe::engine
