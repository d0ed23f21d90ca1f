// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/ollama/answer.h"

#include <algorithm>

#include "app/server/dialects/ollama/ollama.h"
#include "app/server/error_status.h"
#include "app/server/generate/token_logprobs.h"
#include "engine/api/exact_json.h"

namespace lathe::app::ollama {
namespace {

using engine::AnswerDelta;
using engine::OrderedJson;
using engine::TokenEvent;

/// Units: nanoseconds, from milliseconds. At least 1: clients divide by durations.
std::int64_t nanoseconds(double ms) { return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::max(ms, 0.0) * 1e6)); }

OrderedJson object_head(const std::string& model) {
  OrderedJson object;
  object["model"] = model;
  object["created_at"] = time_text(now_us());
  return object;
}

OrderedJson call_object(const engine::ToolCall& call, std::size_t index) {
  const auto arguments = engine::parse_exact_json(call.arguments, "arguments");
  OrderedJson function;
  function["index"] = index;
  function["name"] = call.name;
  function["arguments"] = arguments && arguments->is_object() ? *arguments : OrderedJson::object();
  return {{"id", call.id}, {"function", std::move(function)}};
}

void write_line(const OrderedJson& object, std::string& out) { out.append(engine::dump_exact_json(object)).append("\n"); }

}  // namespace

OrderedJson AnswerObjects::object(const std::vector<AnswerDelta>& parts) const {
  std::string content, thinking;
  OrderedJson calls = OrderedJson::array();
  for (const AnswerDelta& part : parts) {
    switch (part.kind) {
      case AnswerDelta::Kind::content: content += part.text; break;
      case AnswerDelta::Kind::reasoning: thinking += part.text; break;
      case AnswerDelta::Kind::call: calls.push_back(call_object(part.call, calls.size())); break;
    }
  }
  OrderedJson object = object_head(plan_.model);
  OrderedJson inner;
  if (is_chat_) inner["role"] = "assistant";
  inner[is_chat_ ? "content" : "response"] = content;
  if (!thinking.empty()) inner["thinking"] = thinking;
  if (!calls.empty()) inner["tool_calls"] = std::move(calls);
  if (is_chat_) object["message"] = std::move(inner);
  else object.update(inner);
  object["done"] = false;
  return object;
}

void AnswerObjects::add_logprobs(const TokenEvent& event, OrderedJson& to) const {
  if (!plan_.report_logprobs || event.chosen_logprobs.empty()) return;
  const TokenNames names(plan_);
  to["logprobs"] = token_logprobs(names, event, n_top_logprobs_);
}

void AnswerObjects::add_end(const TokenEvent& event, OrderedJson& to) const {
  const engine::RequestTimings& timings = event.timings;
  to["done"] = true;
  to["done_reason"] = event.finish_reason == engine::FinishReason::length ? "length" : "stop";
  to["total_duration"] = nanoseconds(timings.end_ms);
  to["load_duration"] = 0;
  to["prompt_eval_count"] = plan_.n_prompt_tokens();
  to["prompt_eval_duration"] = nanoseconds(timings.ttft_ms - timings.queue_ms);
  to["eval_count"] = event.usage.n_completion_tokens;
  to["eval_duration"] = nanoseconds(timings.end_ms - timings.ttft_ms);
}

OrderedJson loaded_object(const std::string& model, bool is_chat, bool unloads) {
  OrderedJson object = object_head(model);
  if (is_chat) object["message"] = {{"role", "assistant"}, {"content", ""}};
  else object["response"] = "";
  object["done"] = true;
  object["done_reason"] = unloads ? "unload" : "load";
  return object;
}

WholeObject::WholeObject(AnswerPlan plan, std::unique_ptr<GenerationSet> set, bool is_chat)
    : CollectedAnswer(std::move(plan), std::move(set)),
      objects_(this->plan(), is_chat, this->plan().fields.sampling.logprobs.value_or(0)) {}

OrderedJson WholeObject::json() {
  const TokenEvent& event = choices().front();
  AnswerReader reader(plan().reading, plan().fields.sampling, *plan().ids);
  OrderedJson object = objects_.object(reader.read_whole(event));
  objects_.add_logprobs(event, object);
  objects_.add_end(event, object);
  return object;
}

std::string WholeObject::error_body(const engine::Error& error, int http_status) {
  return ollama::error_body(error, http_status);
}

ObjectStream::ObjectStream(AnswerPlan plan, std::unique_ptr<GenerationSet> set, bool is_chat)
    : AnswerStream(std::move(plan), std::move(set)),
      objects_(this->plan(), is_chat, this->plan().fields.sampling.logprobs.value_or(0)),
      reader_(this->plan().reading, this->plan().fields.sampling, *this->plan().ids) {}

/// Writes an object for each delta; the first one has the log probabilities of the event's tokens.
void ObjectStream::add(std::size_t, TokenEvent& event, std::string& out) {
  std::vector<AnswerDelta> deltas = reader_.read(event);
  if (deltas.empty() && plan().report_logprobs && !event.chosen_logprobs.empty()) deltas.emplace_back();
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    OrderedJson object = objects_.object({std::move(deltas[i])});
    if (i == 0) objects_.add_logprobs(event, object);
    write_line(object, out);
  }
  last_ = std::move(event);
}

void ObjectStream::fail(const engine::Error& error, std::string& out) {
  out.append(ollama::error_body(error, http_status_of(error.code))).append("\n");
}

void ObjectStream::finish(std::string& out) {
  OrderedJson object = objects_.object({});
  objects_.add_end(last_, object);
  if (!plan().warnings.empty()) object[kWarningsMember] = warnings_json(plan().warnings);
  write_line(object, out);
}

}  // namespace lathe::app::ollama
