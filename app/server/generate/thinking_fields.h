// SPDX-License-Identifier: Apache-2.0
// Reads whether and with which effort the model is to think, in the spellings of several servers, as variables of the chat
// template.
// Sources: vLLM, reasoning_effort and chat_template_kwargs; Qwen's enable_thinking; Anthropic's thinking; ollama's think;
// OpenRouter's and SGLang's reasoning.
#pragma once

#include <string_view>

#include "app/server/request_fields.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Adds to `variables` those that the template reads; existing ones stay, as chat_template_kwargs take precedence. Refuses
/// fields that contradict each other, and to switch thinking off if the template cannot; warns of an effort or a budget
/// without effect. `thinks`: answers to chats with this template have reasoning.
void read_thinking(RequestFields& body, bool thinks, std::string_view template_source, engine::Json& variables);

}  // namespace lathe::app
