// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/anthropic/message_answer.h"

#include "app/server/dialects/anthropic/anthropic.h"
#include "app/server/error_status.h"
#include "app/server/generate/sse_event.h"
#include "engine/api/exact_json.h"

namespace lathe::app::anthropic {
namespace {

using engine::AnswerDelta;
using engine::OrderedJson;
using engine::TokenEvent;

/// Returns the usage: tokens that the prefix cache had are not among input_tokens.
OrderedJson usage_of(std::int64_t n_prompt, const engine::Usage& usage) {
  return {{"input_tokens", n_prompt - usage.n_cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.n_cached_tokens},
          {"output_tokens", usage.n_completion_tokens}};
}

/// Sets stop_reason and stop_sequence.
void set_stop(OrderedJson& json, const AnswerReader& reader, const TokenEvent& event) {
  const bool is_stop_string = event.stop_cause == engine::StopCause::text;
  json["stop_reason"] = event.finish_reason == engine::FinishReason::length ? "max_tokens"
                        : reader.n_calls() > 0                              ? "tool_use"
                        : is_stop_string                                    ? "stop_sequence"
                                                                            : "end_turn";
  json["stop_sequence"] = json["stop_reason"] == "stop_sequence" ? OrderedJson(event.stop_reason) : OrderedJson(nullptr);
}

OrderedJson text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

OrderedJson thinking_block(const std::string& text) { return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}}; }

OrderedJson call_block(const engine::ToolCall& call, OrderedJson input) {
  return {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", std::move(input)}};
}

/// Returns the arguments as an object; they are the text of one.
OrderedJson input_of(const engine::ToolCall& call) {
  const auto parsed = engine::parse_exact_json(call.arguments, "arguments");
  return parsed && parsed->is_object() ? *parsed : OrderedJson::object();
}

OrderedJson block_of(const AnswerDelta& part) {
  switch (part.kind) {
    case AnswerDelta::Kind::reasoning: return thinking_block(part.text);
    case AnswerDelta::Kind::call: return call_block(part.call, input_of(part.call));
    default: return text_block(part.text);
  }
}

OrderedJson message_head(const AnswerPlan& plan) {
  OrderedJson message;
  message["id"] = plan.id;
  message["type"] = "message";
  message["role"] = "assistant";
  message["model"] = plan.model;
  message["content"] = OrderedJson::array();
  return message;
}

}  // namespace

OrderedJson WholeMessage::json() {
  const TokenEvent& event = choices().front();
  AnswerReader reader(plan().reading, plan().fields.sampling, *plan().ids);
  OrderedJson message = message_head(plan());
  for (const AnswerDelta& part : reader.read_whole(event)) message["content"].push_back(block_of(part));
  set_stop(message, reader, event);
  message["usage"] = usage_of(plan().n_prompt_tokens(), event.usage);
  return message;
}

std::string WholeMessage::error_body(const engine::Error& error, int http_status) {
  return anthropic::error_body(error, http_status);
}

StreamedMessage::StreamedMessage(AnswerPlan plan, std::unique_ptr<GenerationSet> set)
    : AnswerStream(std::move(plan), std::move(set)),
      reader_(this->plan().reading, this->plan().fields.sampling, *this->plan().ids) {}

void StreamedMessage::open(std::string& out) {
  OrderedJson message = message_head(plan());
  message["stop_reason"] = nullptr;
  message["stop_sequence"] = nullptr;
  message["usage"] = usage_of(plan().n_prompt_tokens(), {});
  OrderedJson event = {{"type", "message_start"}, {"message", std::move(message)}};
  if (!plan().warnings.empty()) event["message"][kWarningsMember] = warnings_json(plan().warnings);
  write_sse_event("message_start", event, out);
}

void StreamedMessage::add(std::size_t, TokenEvent& event, std::string& out) {
  for (const AnswerDelta& delta : reader_.read(event)) add_delta(delta, out);
  last_ = std::move(event);
}

void StreamedMessage::add_delta(const AnswerDelta& delta, std::string& out) {
  const bool goes_on = open_block_ == delta.kind && delta.kind != AnswerDelta::Kind::call;
  if (!goes_on) end_block(out);
  switch (delta.kind) {
    case AnswerDelta::Kind::content:
      if (!goes_on) begin_block(delta.kind, text_block(""), out);
      return write_delta({{"type", "text_delta"}, {"text", delta.text}}, out);
    case AnswerDelta::Kind::reasoning:
      if (!goes_on) begin_block(delta.kind, thinking_block(""), out);
      return write_delta({{"type", "thinking_delta"}, {"thinking", delta.text}}, out);
    case AnswerDelta::Kind::call:
      begin_block(delta.kind, call_block(delta.call, OrderedJson::object()), out);
      return write_delta({{"type", "input_json_delta"}, {"partial_json", delta.call.arguments}}, out);
  }
}

void StreamedMessage::begin_block(AnswerDelta::Kind kind, OrderedJson block, std::string& out) {
  open_block_ = kind;
  write_sse_event("content_block_start",
                  {{"type", "content_block_start"}, {"index", n_blocks_}, {"content_block", std::move(block)}}, out);
}

void StreamedMessage::write_delta(OrderedJson delta, std::string& out) const {
  write_sse_event("content_block_delta",
                  {{"type", "content_block_delta"}, {"index", n_blocks_}, {"delta", std::move(delta)}}, out);
}

void StreamedMessage::end_block(std::string& out) {
  if (!open_block_) return;
  open_block_.reset();
  write_sse_event("content_block_stop", {{"type", "content_block_stop"}, {"index", n_blocks_++}}, out);
}

void StreamedMessage::fail(const engine::Error& error, std::string& out) {
  const std::string body = anthropic::error_body(error, http_status_of(error.code));
  out.append("event: error\ndata: ").append(body).append("\n\n");
}

void StreamedMessage::finish(std::string& out) {
  end_block(out);
  OrderedJson delta;
  set_stop(delta, reader_, last_);
  write_sse_event(
      "message_delta",
      {{"type", "message_delta"}, {"delta", std::move(delta)}, {"usage", usage_of(plan().n_prompt_tokens(), last_.usage)}},
      out);
  write_sse_event("message_stop", {{"type", "message_stop"}}, out);
}

}  // namespace lathe::app::anthropic
