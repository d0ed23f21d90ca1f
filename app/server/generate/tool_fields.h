// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a chat about tools: their definitions, and whether the model may call them.
// Source: OpenAI's openapi.yaml; vLLM's rules and messages for tool_choice.
#pragma once

#include <string>
#include <string_view>

#include "app/server/request_fields.h"
#include "engine/api/call_grammar.h"
#include "engine/api/engine.h"

namespace lathe::app {

/// Reads and checks "tools"; null if there are none. `text` is the body itself: templates write tools with their keys in the
/// given order. Errors: those of parse_ordered_json; all others are recorded in `body`.
engine::Result<engine::OrderedJson> read_tools(RequestFields& body, std::string_view text);

/// Checks the "function" of a tool, {"name", "description", "parameters", "strict"}. `path`: prefix of its members in errors
/// and warnings, which are recorded in `body`.
void check_function(const engine::Json& function, RequestFields& body, const std::string& path);

/// Demands of "tool_choice", "parallel_tool_calls" and strict tools on the answer.
struct ToolDemand {
  bool may_call = false;        ///< the answer is read for calls
  bool is_constrained = false;  ///< `calls` is a constraint of the answer: forced calls, allowed, strict or generic tools
  bool is_generic = false;      ///< calls are in the generic format
  engine::CallDemand calls;
};

/// Reads "tool_choice" and "parallel_tool_calls". `tools`: those of the request in OpenAI's form, or null. Calls need a
/// format that can be parsed; if the chat template shows none, it is the generic one. Errors are recorded in `body`.
ToolDemand read_tool_choice(RequestFields& body, const engine::OrderedJson& tools, const engine::Engine& engine);

}  // namespace lathe::app
