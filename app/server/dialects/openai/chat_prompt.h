// SPDX-License-Identifier: Apache-2.0
// Chat messages of a request body, rendered by the model's template.
#pragma once

#include <vector>

#include "app/server/request_fields.h"
#include "engine/api/engine.h"

namespace lathe::app::openai {

/// Reads "messages", "add_generation_prompt", "continue_final_message", "chat_template_kwargs" and how to think.
/// `tools`: those of the request, or null.
/// What users wrote stands in spans that may not hold control tokens.
/// Errors: invalid_argument with the path of the message, or the template's own words.
engine::Result<std::vector<engine::TextSpan>> read_chat_prompt(RequestFields& body, engine::OrderedJson tools,
                                                               const engine::Engine& engine);

}  // namespace lathe::app::openai
