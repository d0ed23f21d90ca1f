// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/streamed_answer.h"

#include "app/server/dialects/openai/answer_json.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/error_status.h"
#include "app/server/escape.h"

namespace lathe::app::openai {
namespace {

using engine::OrderedJson;
using engine::TokenEvent;

void write_event(const std::string& data, std::string& out) { out.append("data: ").append(data).append("\n\n"); }

/// Adds a tool call as OpenAI streams it: first its name, then its arguments.
void add_call(const engine::ToolCall& call, std::size_t index, std::vector<OrderedJson>& deltas) {
  const auto add = [&](OrderedJson entry) {
    OrderedJson delta;
    delta["tool_calls"].push_back(std::move(entry));
    deltas.push_back(std::move(delta));
  };
  add({{"index", index}, {"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", ""}}}});
  add({{"index", index}, {"function", {{"arguments", call.arguments}}}});
}

}  // namespace

StreamedAnswer::StreamedAnswer(AnswerPlan plan, std::unique_ptr<GenerationSet> set)
    : AnswerStream(std::move(plan), std::move(set)), choices_(n_choices()) {
  for (Choice& choice : choices_)
    choice.reader = std::make_unique<AnswerReader>(this->plan().reading, this->plan().fields.sampling, *this->plan().ids);
}

void StreamedAnswer::open(std::string& out) {
  if (!plan().chat) return;
  for (std::size_t member = 0; member < choices_.size(); ++member) begin(member, {}, out);
}

/// Writes the first chunk: with the role in a chat, with the echoed prompt and its log probabilities in a completion.
void StreamedAnswer::begin(std::size_t member, const TokenEvent& event, std::string& out) {
  choices_[member].begun = true;
  const PromptPlan& prompt = plan().prompts[plan().prompt_of(member)];
  OrderedJson choice;
  choice["index"] = member;
  if (plan().chat) choice["delta"] = {{"role", "assistant"}, {"content", ""}};
  else choice["text"] = plan().fields.echo ? prompt.text : "";
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = nullptr;
  if (!plan().chat && plan().fields.return_token_ids) choice["prompt_token_ids"] = prompt.ids;
  if (!plan().chat && plan().fields.echo && plan().report_logprobs) {
    const TokenNames names(plan());
    TextLogprobs logprobs(names);
    logprobs.add_prompt(prompt, event.prompt_logprobs);
    choice["logprobs"] = logprobs.json();
  }
  write(std::move(choice), member, out);
}

OrderedJson StreamedAnswer::logprobs(std::size_t member, const TokenEvent& event) {
  if (!plan().report_logprobs || event.chosen_logprobs.empty()) return nullptr;
  const TokenNames names(plan());
  if (plan().chat) return chat_logprobs(names, event, plan().fields.sampling.logprobs.value_or(0));
  const std::string& prompt = plan().prompts[plan().prompt_of(member)].text;
  TextLogprobs logprobs(names);
  logprobs.add(event, plan().fields.echo ? count_code_points(prompt) : 0, std::string::npos);
  return logprobs.json();
}

void StreamedAnswer::add(std::size_t member, TokenEvent& event, std::string& out) {
  if (!plan().chat && plan().report_logprobs) choices_[member].held.pass(event);
  choices_[member].usage = event.usage;
  const bool fails = is_failure(event);
  // A chat may have held back text that could begin a marker.
  if (!fails || plan().chat || !event.text.empty() || !event.token_ids.empty()) add_delta(member, event, fails, out);
}

/// Returns the deltas of a chat's choice in the order of arrival: content, reasoning and the two parts of each call.
std::vector<OrderedJson> StreamedAnswer::deltas(std::size_t member, const TokenEvent& event) {
  AnswerReader& reader = *choices_[member].reader;
  std::size_t n_calls = reader.n_calls();
  std::vector<OrderedJson> deltas;
  for (const engine::AnswerDelta& delta : reader.read(event)) {
    switch (delta.kind) {
      case engine::AnswerDelta::Kind::content: deltas.push_back(OrderedJson{{"content", delta.text}}); break;
      case engine::AnswerDelta::Kind::reasoning:
        deltas.push_back(OrderedJson{{"reasoning", delta.text}, {"reasoning_content", delta.text}});
        break;
      case engine::AnswerDelta::Kind::call: add_call(delta.call, n_calls++, deltas); break;
    }
  }
  return deltas;
}

/// Writes the chunks of an event; for an answer that fails, without finish_reason. Tokens and log probabilities are in the
/// first chunk, the finish_reason in the last.
void StreamedAnswer::add_delta(std::size_t member, const TokenEvent& event, bool fails, std::string& out) {
  const bool finished = event.finished && !fails;
  const bool first_of_completion = !plan().chat && !choices_[member].begun;
  if (first_of_completion && (plan().fields.echo || plan().fields.return_token_ids)) begin(member, event, out);
  const bool shows_tokens = (plan().fields.return_token_ids || plan().report_logprobs) && !event.token_ids.empty();
  const bool drops_text = plan().prompt_only;
  std::vector<OrderedJson> texts;
  if (plan().chat) texts = deltas(member, event);
  else if (!event.text.empty()) texts.emplace_back(drops_text ? std::string() : event.text);
  if (texts.empty() && !shows_tokens && !finished) return;
  if (texts.empty()) texts.push_back(plan().chat ? OrderedJson::object() : OrderedJson(""));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool is_first = i == 0, ends = finished && i + 1 == texts.size();
    OrderedJson choice;
    choice["index"] = member;
    choice[plan().chat ? "delta" : "text"] = std::move(texts[i]);
    choice["logprobs"] = is_first && !drops_text ? logprobs(member, event) : OrderedJson(nullptr);
    choice["finish_reason"] =
        ends ? OrderedJson(choices_[member].reader->finish_reason(event.finish_reason)) : OrderedJson(nullptr);
    if (ends) choice["stop_reason"] = stop_reason_json(event);
    const bool has_ids = is_first && !drops_text;
    if (plan().fields.return_token_ids) choice["token_ids"] = has_ids ? event.token_ids : std::vector<std::int32_t>();
    write(std::move(choice), member, out);
  }
}

void StreamedAnswer::fail(const engine::Error& error, std::string& out) {
  write_event(error_body(error, http_status_of(error.code)), out);
  write_event("[DONE]", out);
}

void StreamedAnswer::finish(std::string& out) {
  if (plan().fields.include_usage) {
    std::int64_t n_completion = 0, n_cached = 0;
    for (std::size_t member = 0; member < choices_.size(); ++member) {
      if (!plan().prompt_only) n_completion += choices_[member].usage.n_completion_tokens;
      if (member % static_cast<std::size_t>(plan().fields.best_of) == 0) n_cached += choices_[member].usage.n_cached_tokens;
    }
    OrderedJson last = chunk(OrderedJson::array());
    last["usage"] = usage_json(plan().n_prompt_tokens(), n_completion, n_cached);
    write_event(engine::dump_json(last), out);
  }
  write_event("[DONE]", out);
}

OrderedJson StreamedAnswer::chunk(OrderedJson choices) const {
  OrderedJson chunk;
  chunk["id"] = plan().id;
  chunk["object"] = plan().chat ? "chat.completion.chunk" : "text_completion";
  chunk["created"] = plan().created;
  chunk["model"] = plan().model;
  chunk["choices"] = std::move(choices);
  return chunk;
}

void StreamedAnswer::write(OrderedJson choice, std::size_t member, std::string& out) {
  const bool first_of_chat = plan().chat && choice["delta"].contains("role");
  OrderedJson choices = OrderedJson::array();
  choices.push_back(std::move(choice));
  OrderedJson json = chunk(std::move(choices));
  if (first_of_chat && plan().fields.return_token_ids) json["prompt_token_ids"] = plan().prompts.front().ids;
  if (plan().fields.continuous_usage) json["usage"] = usage(member);
  else if (plan().fields.include_usage) json["usage"] = nullptr;
  if (!std::exchange(has_warned_, true) && !plan().warnings.empty()) json[kWarningsMember] = warnings_json(plan().warnings);
  write_event(engine::dump_json(json), out);
}

OrderedJson StreamedAnswer::usage(std::size_t member) const {
  const engine::Usage& usage = choices_[member].usage;
  const auto n_prompt = static_cast<std::int64_t>(plan().prompts[plan().prompt_of(member)].ids.size());
  return usage_json(n_prompt, usage.n_completion_tokens, usage.n_cached_tokens);
}

}  // namespace lathe::app::openai
