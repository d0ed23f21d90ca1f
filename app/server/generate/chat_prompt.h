// SPDX-License-Identifier: Apache-2.0
// Renders the chat messages of a request body with the model's template.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "app/server/request_fields.h"
#include "engine/api/engine.h"

namespace lathe::app {

/// Reads the messages of a body in the form of one dialect.
using MessageReader = std::function<engine::Result<std::vector<engine::ChatMessage>>(RequestFields& body)>;

/// Returns a reader for messages that have been read already.
inline MessageReader reader_of(std::vector<engine::ChatMessage> messages) {
  return [messages = std::move(messages)](RequestFields&) -> engine::Result<std::vector<engine::ChatMessage>> {
    return messages;
  };
}

/// Reads the messages by `read_messages`, and "add_generation_prompt", "continue_final_message", "chat_template_kwargs" and
/// the thinking fields. `tools`: the tools of the request, or null. Text of users is in spans that are encoded without
/// control tokens. Tools, calls and results of a model with generic tools become texts. Errors: those of `read_messages`;
/// invalid_argument with the template's own message.
engine::Result<std::vector<engine::TextSpan>> read_chat_prompt(RequestFields& body, engine::OrderedJson tools,
                                                               const MessageReader& read_messages,
                                                               const engine::Engine& engine);

}  // namespace lathe::app
