// SPDX-License-Identifier: Apache-2.0
// Plans the answer to a chat: renders and encodes its prompt, and decides how the answer is read.
#pragma once

#include "app/server/generate/answer_plan.h"
#include "app/server/generate/chat_prompt.h"

namespace lathe::app {

/// Reads "tool_choice" and "parallel_tool_calls", which may constrain the answer to calls, the fields about reasoning, and
/// the prompt by read_chat_prompt(); adds the prompt to `plan`. `tools`: the tools of the request in OpenAI's form, or null.
/// Requires: `plan` has the common fields. Errors: those of read_chat_prompt(), check_text_size(), Tokenizer::encode_spans()
/// and fit_to_context().
engine::Result<void> plan_chat(RequestFields& body, engine::OrderedJson tools, const MessageReader& read_messages,
                               const engine::Engine& engine, AnswerPlan& plan);

}  // namespace lathe::app
