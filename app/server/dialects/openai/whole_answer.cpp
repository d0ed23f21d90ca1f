// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/whole_answer.h"

#include <algorithm>

#include "app/server/dialects/openai/answer_json.h"
#include "app/server/dialects/openai/logprobs.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/escape.h"
#include "app/server/generate/token_logprobs.h"

namespace lathe::app::openai {
namespace {

using engine::OrderedJson;
using engine::TokenEvent;

OrderedJson call_json(const engine::ToolCall& call) {
  return {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

double cumulative_logprob(const TokenEvent& member) {
  double sum = 0;
  for (const engine::TokenLogprob& token : member.chosen_logprobs) sum += finite_logprob(token.logprob);
  return sum;
}

/// Writes reasoning under vLLM's name and under the older one, which many clients read.
OrderedJson message_json(const std::vector<engine::AnswerDelta>& deltas) {
  std::string content, reasoning;
  OrderedJson calls = OrderedJson::array();
  for (const engine::AnswerDelta& delta : deltas) {
    switch (delta.kind) {
      case engine::AnswerDelta::Kind::content: content += delta.text; break;
      case engine::AnswerDelta::Kind::reasoning: reasoning += delta.text; break;
      case engine::AnswerDelta::Kind::call: calls.push_back(call_json(delta.call)); break;
    }
  }
  const bool is_only_beside = content.empty() && !(calls.empty() && reasoning.empty());
  OrderedJson message;
  message["role"] = "assistant";
  message["content"] = is_only_beside ? OrderedJson(nullptr) : OrderedJson(content);
  message["refusal"] = nullptr;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  message["reasoning"] = reasoning.empty() ? OrderedJson(nullptr) : OrderedJson(reasoning);
  message["reasoning_content"] = message["reasoning"];
  return message;
}

}  // namespace

std::vector<std::size_t> WholeAnswer::shown() const {
  const auto n = static_cast<std::size_t>(plan().fields.n), of = static_cast<std::size_t>(plan().fields.best_of);
  std::vector<std::size_t> shown;
  for (std::size_t first = 0; first < choices().size(); first += of) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < of; ++i) candidates.push_back(first + i);
    if (of > n) {
      std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
        return cumulative_logprob(choices()[a]) > cumulative_logprob(choices()[b]);
      });
    }
    shown.insert(shown.end(), candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return shown;
}

OrderedJson WholeAnswer::chat_choice(const TokenNames& names, std::size_t member, std::size_t index) const {
  const TokenEvent& event = choices()[member];
  OrderedJson choice;
  AnswerReader reader(plan().reading, plan().fields.sampling, *plan().ids);
  choice["index"] = index;
  choice["message"] = message_json(reader.read(event));
  choice["logprobs"] = plan().report_logprobs ? chat_logprobs(names, event, plan().fields.sampling.logprobs.value_or(0))
                                              : OrderedJson(nullptr);
  choice["finish_reason"] = reader.finish_reason(event.finish_reason);
  choice["stop_reason"] = stop_reason_json(event);
  choice["token_ids"] = plan().fields.return_token_ids ? OrderedJson(event.token_ids) : OrderedJson(nullptr);
  return choice;
}

OrderedJson WholeAnswer::text_choice(const TokenNames& names, std::size_t member, std::size_t index) const {
  const TokenEvent& event = choices()[member];
  const PromptPlan& prompt = plan().prompts[plan().prompt_of(member)];
  OrderedJson choice;
  choice["index"] = index;
  choice["text"] = (plan().fields.echo ? prompt.text : std::string()) + (plan().prompt_only ? std::string() : event.text);
  choice["logprobs"] = nullptr;
  if (plan().report_logprobs) {
    TextLogprobs logprobs(names);
    if (plan().fields.echo) logprobs.add_prompt(prompt, event.prompt_logprobs);
    const std::size_t offset = plan().fields.echo ? count_code_points(prompt.text) : 0;
    if (!plan().prompt_only) logprobs.add(event, offset, count_code_points(event.text));
    choice["logprobs"] = logprobs.json();
  }
  choice["finish_reason"] = engine::name_of(event.finish_reason);
  choice["stop_reason"] = stop_reason_json(event);
  const bool ids = plan().fields.return_token_ids;
  choice["token_ids"] =
      ids ? OrderedJson(plan().prompt_only ? std::vector<std::int32_t>() : event.token_ids) : OrderedJson(nullptr);
  choice["prompt_logprobs"] =
      plan().fields.sampling.prompt_logprobs ? prompt_logprobs_json(names, event.prompt_logprobs) : OrderedJson(nullptr);
  choice["prompt_token_ids"] = ids ? OrderedJson(prompt.ids) : OrderedJson(nullptr);
  return choice;
}

OrderedJson WholeAnswer::usage() const {
  std::int64_t n_completion = 0, n_cached = 0;
  for (std::size_t i = 0; i < choices().size(); ++i) {
    if (!plan().prompt_only) n_completion += choices()[i].usage.n_completion_tokens;
    if (i % static_cast<std::size_t>(plan().fields.best_of) == 0) n_cached += choices()[i].usage.n_cached_tokens;
  }
  return usage_json(plan().n_prompt_tokens(), n_completion, n_cached);
}

std::string WholeAnswer::error_body(const engine::Error& error, int http_status) {
  return openai::error_body(error, http_status);
}

OrderedJson WholeAnswer::json() {
  OrderedJson body;
  body["id"] = plan().id;
  body["object"] = plan().chat ? "chat.completion" : "text_completion";
  body["created"] = plan().created;
  body["model"] = plan().model;
  body["choices"] = OrderedJson::array();
  const TokenNames names(plan());
  for (const std::size_t member : shown()) {
    const std::size_t index = body["choices"].size();
    body["choices"].push_back(plan().chat ? chat_choice(names, member, index) : text_choice(names, member, index));
  }
  body["service_tier"] = nullptr;
  body["system_fingerprint"] = nullptr;
  body["usage"] = usage();
  if (plan().chat) {
    const auto& lists = choices().front().prompt_logprobs;
    body["prompt_logprobs"] =
        plan().fields.sampling.prompt_logprobs ? prompt_logprobs_json(names, lists) : OrderedJson(nullptr);
    body["prompt_token_ids"] =
        plan().fields.return_token_ids ? OrderedJson(plan().prompts.front().ids) : OrderedJson(nullptr);
  }
  return body;
}

}  // namespace lathe::app::openai
