// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/response_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/server/field_warnings.h"
#include "app/server/generate/sse_event.h"
#include "app/server/generate/token_logprobs.h"

namespace lathe::app::openai {
namespace {

using engine::AnswerDelta;
using engine::OrderedJson;
using engine::TokenEvent;

std::int64_t unix_now() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

OrderedJson text_part(const std::string& text, OrderedJson logprobs) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", OrderedJson::array()}, {"logprobs", std::move(logprobs)}};
}

OrderedJson reasoning_part(const std::string& text) { return {{"type", "reasoning_text"}, {"text", text}}; }

/// Counts the tokens of a text as the tokenizer cuts it; 0 if the model was unloaded.
std::int64_t count_tokens(const AnswerPlan& plan, const std::string& text) {
  if (text.empty()) return 0;
  const EngineLease engine = plan.models->lease();
  if (!engine || engine->model().name != plan.loaded_model) return 0;
  const auto ids = engine->tokenizer().encode(text, false, false);
  return ids ? static_cast<std::int64_t>(ids->size()) : 0;
}

/// Estimates the memory of a request: its messages, and once more as items.
std::size_t size_of(const ResponseRequest& request) {
  std::size_t bytes = sizeof(ResponseRun);
  for (const engine::ChatMessage& message : request.messages) {
    bytes += sizeof message + 2 * (message.content.size() + message.reasoning.size());
    for (const std::string& part : message.parts) bytes += part.size();
    for (const engine::ToolCall& call : message.tool_calls) bytes += call.arguments.size() + call.name.size();
  }
  return bytes;
}

}  // namespace

ResponseRun::ResponseRun(AnswerPlan plan, std::unique_ptr<GenerationSet> set, ResponseRequest request)
    : plan_(std::move(plan)),
      request_(std::move(request)),
      set_(std::move(set)),
      n_bytes_(size_of(request_)),
      reader_(plan_.reading, plan_.fields.sampling, *plan_.ids),
      status_(request_.background ? "queued" : "in_progress") {
  write_response("response.created");
  write_response(request_.background ? "response.queued" : "response.in_progress");
  set_->on_wake([this] { wake_listeners(); });
}

ResponseRun::~ResponseRun() { set_->on_wake({}); }

void ResponseRun::listen(const void* listener, std::function<void()> wake) {
  const std::lock_guard lock(listeners_mutex_);
  if (!wake) {
    listeners_.erase(listener);
    return;
  }
  wake();  // news may have come before
  listeners_[listener] = std::move(wake);
}

void ResponseRun::wake_listeners() {
  const std::lock_guard lock(listeners_mutex_);
  for (const auto& [listener, wake] : listeners_) wake();
}

void ResponseRun::cancel() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    cancelled_ = true;
    status_ = "cancelled";
  }
  set_->cancel();
}

void ResponseRun::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  set_->cancel();
}

bool ResponseRun::poll() {
  bool running = false, has_news = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    std::optional<TokenEvent> last;
    running = set_->poll([&](std::size_t, TokenEvent&& event) {
      has_news = true;
      take(event);
      if (event.finished) last = std::move(event);
    });
    if (last) end(*last);
  }
  // Several pollers share the news of a response in the background.
  if (has_news && request_.background) wake_listeners();
  return running;
}

void ResponseRun::take(const TokenEvent& event) {
  if (status_ == "queued") {
    status_ = "in_progress";
    write_response("response.in_progress");
  }
  usage_ = event.usage;
  if (plan_.report_logprobs && !event.chosen_logprobs.empty()) {
    const TokenNames names(plan_);
    for (OrderedJson& entry : token_logprobs(names, event, request_.n_top_logprobs)) logprobs_.push_back(std::move(entry));
  }
  for (const AnswerDelta& delta : reader_.read(event)) {
    n_bytes_ += 4 * (delta.text.size() + delta.call.arguments.size());  // as item, message and text
    if (delta.kind == Kind::call) add_call(delta.call);
    else add_text(delta.kind, delta.text);
  }
}

// ---- items

void ResponseRun::add_text(Kind kind, const std::string& text) {
  const bool is_message = kind == Kind::content;
  if (open_item_ != kind) {
    end_item("completed");
    OrderedJson item = {{"id", (is_message ? "msg_" : "rs_") + plan_.ids->next()},
                        {"type", is_message ? "message" : "reasoning"},
                        {"status", "in_progress"}};
    if (is_message) item["role"] = "assistant";
    else item["summary"] = OrderedJson::array();
    item["content"] = OrderedJson::array();
    begin_item(kind, std::move(item));
    begin_part(is_message ? text_part("", OrderedJson::array()) : reasoning_part(""));
  }
  text_ += text;
  (is_message ? answer_.content : answer_.reasoning) += text;
  if (!is_message) reasoning_ += text;
  OrderedJson members = {{"content_index", 0}, {"delta", text}};
  if (is_message) members["logprobs"] = take_logprobs();
  write_in_item(is_message ? "response.output_text.delta" : "response.reasoning_text.delta", std::move(members));
}

void ResponseRun::add_call(const engine::ToolCall& call) {
  end_item("completed");
  answer_.tool_calls.push_back(call);
  begin_item(Kind::call, {{"id", "fc_" + plan_.ids->next()},
                          {"type", "function_call"},
                          {"status", "in_progress"},
                          {"call_id", call.id},
                          {"name", call.name},
                          {"arguments", ""}});
  output_.back()["arguments"] = call.arguments;
  write_in_item("response.function_call_arguments.delta", {{"delta", call.arguments}});
  write_in_item("response.function_call_arguments.done", {{"name", call.name}, {"arguments", call.arguments}});
  end_item("completed");
}

void ResponseRun::begin_item(Kind kind, OrderedJson item) {
  open_item_ = kind;
  output_.push_back(std::move(item));
  write("response.output_item.added", {{"output_index", output_.size() - 1}, {"item", output_.back()}});
}

void ResponseRun::begin_part(OrderedJson part) {
  text_.clear();
  text_logprobs_ = OrderedJson::array();
  output_.back()["content"].push_back(part);
  write_in_item("response.content_part.added", {{"content_index", 0}, {"part", std::move(part)}});
}

/// Ends the open item, if there is one.
void ResponseRun::end_item(const char* status) {
  if (!open_item_) return;
  OrderedJson& item = output_.back();
  item["status"] = status;
  if (const Kind kind = *open_item_; kind != Kind::call) {
    const bool is_message = kind == Kind::content;
    OrderedJson part = is_message ? text_part(text_, text_logprobs_) : reasoning_part(text_);
    OrderedJson done = {{"content_index", 0}, {"text", text_}};
    if (is_message) done["logprobs"] = text_logprobs_;
    write_in_item(is_message ? "response.output_text.done" : "response.reasoning_text.done", std::move(done));
    item["content"][0] = part;
    write_in_item("response.content_part.done", {{"content_index", 0}, {"part", std::move(part)}});
  }
  write("response.output_item.done", {{"output_index", output_.size() - 1}, {"item", item}});
  open_item_.reset();
}

OrderedJson ResponseRun::take_logprobs() {
  for (const OrderedJson& entry : logprobs_) text_logprobs_.push_back(entry);
  return std::exchange(logprobs_, OrderedJson::array());
}

// ---- the end

void ResponseRun::end(const TokenEvent& event) {
  ended_ = true;
  completed_at_ = unix_now();
  const bool is_cut = event.finish_reason == engine::FinishReason::length;
  if (output_.empty() && !is_failure(event)) add_text(Kind::content, "");  // clients read the first item
  take_logprobs();                                                         // of tokens without text, such as the end token
  end_item(is_cut || is_failure(event) ? "incomplete" : "completed");
  n_reasoning_tokens_ = count_tokens(plan_, reasoning_);
  if (interrupted_ || (is_failure(event) && !cancelled_)) {
    status_ = "failed";
    error_ = failure_of(event, interrupted_);
  } else if (!cancelled_) {
    status_ = is_cut ? "incomplete" : "completed";
  }
  // The protocol has no event for a cancelled response: one that says failed reports its status.
  write_response(status_ == "completed"    ? "response.completed"
                 : status_ == "incomplete" ? "response.incomplete"
                                           : "response.failed");
}

std::optional<engine::Error> ResponseRun::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::vector<engine::ChatMessage> ResponseRun::conversation() const {
  const std::lock_guard lock(mutex_);
  std::vector<engine::ChatMessage> messages = request_.messages;
  messages.push_back(answer_);
  return messages;
}

// ---- JSON

OrderedJson ResponseRun::usage_json() const {
  const std::int64_t n_input = plan_.n_prompt_tokens();
  return {{"input_tokens", n_input},
          {"input_tokens_details", {{"cached_tokens", usage_.n_cached_tokens}, {"cache_write_tokens", 0}}},
          {"output_tokens", usage_.n_completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", n_reasoning_tokens_}}},
          {"total_tokens", n_input + usage_.n_completion_tokens}};
}

OrderedJson ResponseRun::json() const {
  const std::lock_guard lock(mutex_);
  return json_locked();
}

OrderedJson ResponseRun::json_locked() const {
  OrderedJson json;
  json["id"] = plan_.id;
  json["object"] = "response";
  json["created_at"] = plan_.created;
  json["status"] = status_;
  json["completed_at"] = status_ == "completed" ? OrderedJson(completed_at_) : OrderedJson(nullptr);
  json["error"] = nullptr;
  if (error_) json["error"] = {{"code", "server_error"}, {"message", error_->message}};
  json["incomplete_details"] = nullptr;
  if (status_ == "incomplete") json["incomplete_details"] = {{"reason", "max_output_tokens"}};
  json["model"] = plan_.model;
  json["output"] = output_;
  json.update(request_.echo);
  json["usage"] = ended_ ? usage_json() : OrderedJson(nullptr);
  if (!plan_.warnings.empty()) json[kWarningsMember] = warnings_json(plan_.warnings);
  return json;
}

// ---- events

void ResponseRun::write(const char* type, OrderedJson members) {
  if (!request_.stream) return;
  OrderedJson event = {{"type", type}, {"sequence_number", n_events_}};
  event.update(members);
  std::string text;
  write_sse_event(type, event, text);
  n_bytes_ += text.size();
  events_.push_back(std::move(text));
  ++n_events_;
}

/// Writes an event of the last item.
void ResponseRun::write_in_item(const char* type, OrderedJson members) {
  OrderedJson all = {{"item_id", output_.back()["id"]}, {"output_index", output_.size() - 1}};
  all.update(members);
  write(type, std::move(all));
}

void ResponseRun::write_response(const char* type) {
  if (request_.stream) write(type, {{"response", json_locked()}});
}

void ResponseRun::events_from(std::size_t& next, std::string& out) {
  const std::lock_guard lock(mutex_);
  next = std::max(next, first_event_);
  for (; next < n_events_; ++next) out += events_[next - first_event_];
  if (request_.background) return;
  for (const std::string& event : events_) n_bytes_ -= event.size();
  events_.clear();
  first_event_ = n_events_;
}

}  // namespace lathe::app::openai
