// SPDX-License-Identifier: Apache-2.0
// Reads the messages of a Messages request, which are lists of typed blocks, for the engine's chat templates.
#pragma once

#include <vector>

#include "app/server/request_fields.h"
#include "engine/api/chat.h"
#include "engine/api/json.h"

namespace lathe::app::anthropic {

/// Reads "system" and "messages". A result of a tool becomes a message of the role "tool", with the name of the tool that
/// was called. `ordered`: the body with its keys in their order: arguments of calls keep theirs. Images, documents and
/// blocks of tools that run at Anthropic are refused by name. Errors: invalid_argument with the path of the field.
engine::Result<std::vector<engine::ChatMessage>> read_message_blocks(RequestFields& body,
                                                                     const engine::OrderedJson& ordered);

}  // namespace lathe::app::anthropic
