// SPDX-License-Identifier: Apache-2.0
// The fields of a chat about tools: which there are, and whether the model may call them.
// Source: OpenAI's openapi.yaml; vLLM's rules and words for tool_choice.
#pragma once

#include <string_view>

#include "app/server/request_fields.h"
#include "engine/api/engine.h"

namespace lathe::app::openai {

/// "tools", checked; null when there are none. `text` is the body itself: templates show tools in the order in which their
/// keys came. Complaints go to the reader. Errors: those of parse_ordered_json.
engine::Result<engine::OrderedJson> read_tools(RequestFields& body, std::string_view text);

/// "tool_choice": whether the model may call the tools that `body` brings. To call one of its own choosing it needs a format
/// that can be read; to be made to call one it would need guided decoding, which is refused. Complaints go to the reader.
bool read_tool_choice(RequestFields& body, const engine::LoadedModel& model);

}  // namespace lathe::app::openai
