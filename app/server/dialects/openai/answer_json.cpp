// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/answer_json.h"

#include <charconv>

namespace lathe::app::openai {

using engine::OrderedJson;
using engine::StopCause;

OrderedJson usage_json(std::int64_t n_prompt, std::int64_t n_completion, std::int64_t n_cached) {
  OrderedJson usage;
  usage["prompt_tokens"] = n_prompt;
  usage["total_tokens"] = n_prompt + n_completion;
  usage["completion_tokens"] = n_completion;
  usage["prompt_tokens_details"] = {{"cached_tokens", n_cached}};
  return usage;
}

OrderedJson stop_reason_json(const engine::TokenEvent& event) {
  if (event.stop_cause == StopCause::text) return event.stop_reason;
  if (event.stop_cause != StopCause::token) return nullptr;
  std::int32_t id = 0;
  std::from_chars(event.stop_reason.data(), event.stop_reason.data() + event.stop_reason.size(), id);
  return id;
}

}  // namespace lathe::app::openai
