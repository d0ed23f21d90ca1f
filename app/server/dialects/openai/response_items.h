// SPDX-License-Identifier: Apache-2.0
// Reads the input items of a Responses request for the engine's chat templates.
#pragma once

#include <vector>

#include "app/server/id_source.h"
#include "app/server/request_fields.h"
#include "engine/api/chat.h"
#include "engine/api/json.h"

namespace lathe::app::openai {

struct ResponseInput {
  std::vector<engine::ChatMessage> messages;
  engine::OrderedJson items = engine::OrderedJson::array();  ///< the items with ids; texts of messages as lists of parts
};

/// Reads "input": a text or a list of items. Reasoning, the text and the calls of one turn of the assistant become one
/// message; an output of a tool becomes a message of the role "tool". `earlier`: the conversation before, whose calls name
/// the tools. Other items, images and files are refused by name. Errors: invalid_argument with the path of the field.
engine::Result<ResponseInput> read_response_input(RequestFields& body, const engine::OrderedJson& ordered,
                                                  const std::vector<engine::ChatMessage>& earlier, IdSource& ids);

}  // namespace lathe::app::openai
