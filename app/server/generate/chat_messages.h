// SPDX-License-Identifier: Apache-2.0
// Reads the messages of a request body for the engine's chat templates.
#pragma once

#include <string>
#include <vector>

#include "app/server/request_fields.h"
#include "engine/api/chat.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Reads "messages" in the forms of OpenAI and ollama. Members of a message that are not read become warnings of `body`.
/// Errors: invalid_argument with the path of the field.
engine::Result<std::vector<engine::ChatMessage>> read_messages_field(RequestFields& body);

/// Warns of arguments of an earlier call that are no JSON: the prompt has {} in their place. `call`: reader of the object
/// that has the member "arguments".
void check_arguments(RequestFields& call, const std::string& arguments);
/// Adds a text to the content of a message that came as a list of parts.
void add_part(engine::ChatMessage& message, std::string text);
/// Adds a text to the reasoning of a message.
void add_reasoning(engine::ChatMessage& message, const std::string& text);

}  // namespace lathe::app
