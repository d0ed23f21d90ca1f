// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a chat about tools: their definitions, and whether the model may call them.
// Source: OpenAI's openapi.yaml; vLLM's rules and messages for tool_choice.
#pragma once

#include <string>
#include <string_view>

#include "app/server/request_fields.h"
#include "engine/api/engine.h"

namespace lathe::app {

/// Reads and checks "tools"; null if there are none. `text` is the body itself: templates write tools with their keys in the
/// given order. Errors: those of parse_ordered_json; all others are recorded in `body`.
engine::Result<engine::OrderedJson> read_tools(RequestFields& body, std::string_view text);

/// Checks the "function" of a tool, {"name", "description", "parameters", "strict"}. `path`: prefix of its members in errors
/// and warnings, which are recorded in `body`.
void check_function(const engine::Json& function, RequestFields& body, const std::string& path);

/// Reads "tool_choice": whether the model may call the request's tools. Calls by the model's own choice need a format that
/// can be parsed; forced calls would need guided decoding and are refused. Errors are recorded in `body`.
bool read_tool_choice(RequestFields& body, const engine::LoadedModel& model);

}  // namespace lathe::app
