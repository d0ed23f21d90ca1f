// SPDX-License-Identifier: Apache-2.0
// Writes the parts that whole and streamed answers of OpenAI's form share.
#pragma once

#include <cstdint>

#include "engine/api/json.h"
#include "engine/api/request.h"

namespace lathe::app::openai {

/// Returns {"prompt_tokens", "total_tokens", "completion_tokens", "prompt_tokens_details": {"cached_tokens"}}.
engine::OrderedJson usage_json(std::int64_t n_prompt, std::int64_t n_completion, std::int64_t n_cached);

/// Returns the stop string or stop token id that ended a choice; null for the end token and for the length.
engine::OrderedJson stop_reason_json(const engine::TokenEvent& event);

}  // namespace lathe::app::openai
