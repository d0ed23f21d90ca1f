// SPDX-License-Identifier: Apache-2.0
#include "app/api/chat_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;
using engine::TokenEvent;

class RunningGeneration final : public ChatGeneration {
 public:
  /// `reading`: null if the whole text is content.
  RunningGeneration(engine::RequestHandlePtr handle, RequestLog& log, std::uint64_t number, const engine::Usage& usage,
                    const engine::AnswerReading* reading, engine::SamplingParams sampling)
      : handle_(std::move(handle)), log_(log), number_(number), sampling_(std::move(sampling)), usage_(usage) {
    if (reading == nullptr) return;
    auto made = engine::make_answer_parser(*reading, engine::stops_of(sampling_));
    LATHE_CHECK(made.has_value());  // the formats come from the loaded model
    parser_ = std::move(*made);
  }

  ~RunningGeneration() override {
    if (finished_) return;
    handle_->cancel();
    // The last event will not be read: the row must not stay "running" for ever.
    TokenEvent event;
    event.usage = usage_;
    event.timings = timings_;
    handle_->poll(event);
    event.finished = true;
    if (event.finish_reason == engine::FinishReason::none) event.finish_reason = engine::FinishReason::cancelled;
    log_.update(number_, event);
  }

  std::uint64_t engine_id() const override { return handle_->id(); }
  std::uint64_t record_number() const override { return number_; }
  void cancel() override { handle_->cancel(); }
  std::string take_reasoning() override { return std::exchange(reasoning_, {}); }

  bool poll(TokenEvent& event) override { return noted(handle_->poll(event), event); }
  bool wait(TokenEvent& event, std::chrono::milliseconds timeout) override {
    return noted(handle_->wait(event, timeout), event);
  }

 private:
  bool noted(bool arrived, TokenEvent& event) {
    if (!arrived) return false;
    if (parser_) read(event);
    finished_ = finished_ || event.finished;
    usage_ = event.usage;
    timings_ = event.timings;
    log_.update(number_, event);
    return true;
  }

  void read(TokenEvent& event) {
    std::string content;
    const auto take = [&](const std::vector<engine::AnswerDelta>& deltas) {
      for (const engine::AnswerDelta& delta : deltas) {
        (delta.kind == engine::AnswerDelta::Kind::reasoning ? reasoning_ : content) += delta.text;
        // The request has no tools, so the text of a call, which only gpt-oss's parser finds here, counts as content.
        content += delta.call.name + delta.call.arguments;
      }
    };
    take(parser_->feed(event.text, event.marks));
    if (event.finished) take(parser_->finish(event.finish_reason != engine::FinishReason::stop));
    // Blanks between reasoning and answer belong to the format.
    if (!reasoning_.empty()) has_reasoned_ = true;
    if (has_reasoned_ && !has_content_) content.erase(0, std::min(content.find_first_not_of(" \t\r\n"), content.size()));
    has_content_ = has_content_ || !content.empty();
    event.text = std::move(content);
    event.marks.clear();
  }

  const engine::RequestHandlePtr handle_;
  RequestLog& log_;
  const std::uint64_t number_;
  const engine::SamplingParams sampling_;  // the parser refers to its stop strings
  engine::Usage usage_;                    // as of the last event
  engine::RequestTimings timings_;
  std::unique_ptr<engine::AnswerParser> parser_;
  std::string reasoning_;
  bool has_reasoned_ = false, has_content_ = false;
  bool finished_ = false;
};

Result<std::vector<engine::TextSpan>> prompt_spans(const engine::Engine& engine,
                                                   const std::vector<engine::ChatMessage>& messages,
                                                   bool continue_final_message) {
  const engine::ChatTemplate* chat_template = engine.chat_template();
  if (chat_template == nullptr) {
    const char* const can = engine.model().generates ? "; it can only complete text (lathe complete, /v1/completions)"
                                                     : "; it gives vectors (lathe embed, /v1/embeddings)";
    return engine::fail(ErrorCode::invalid_argument, engine.model().no_chat_text() + can,
                        "tokenizer_config.json: chat_template");
  }
  engine::ChatRenderOptions options;
  options.continue_final_message = continue_final_message;
  options.add_generation_prompt = !continue_final_message;
  return chat_template->render(messages, options);
}

/// Completes text as `lathe complete` does: with BOS where the checkpoint puts it, and special tokens that are written out.
Result<std::vector<std::int32_t>> text_ids(const engine::Engine& engine, const std::vector<engine::ChatMessage>& messages) {
  if (!engine.model().generates)
    return engine::fail(ErrorCode::invalid_argument,
                        "this model gives vectors and no text; use lathe embed or /v1/embeddings", "model");
  std::string text;
  for (const engine::ChatMessage& message : messages) text += message.content;
  return engine.tokenizer().encode(text, true, true);
}

/// Returns how the answer is parsed: without tools, only its reasoning is separated. Null: the whole text is content.
std::shared_ptr<const engine::AnswerReading> reading_of(const engine::LoadedModel& model,
                                                        const std::vector<engine::TextSpan>& prompt, bool goes_on) {
  engine::AnswerReading reading = engine::answer_reading({{}, model.answer_formats.reasoning}, model.answer_markers);
  if (reading.formats.empty()) return nullptr;
  reading.prompt = engine::prompt_end(prompt, goes_on);
  reading.goes_on = goes_on;
  return std::make_shared<const engine::AnswerReading>(std::move(reading));
}

tl::unexpected<engine::Error> no_model() {
  return engine::fail(ErrorCode::unavailable, "no model is loaded; load one first", "model");
}

}  // namespace

Result<std::unique_ptr<ChatGeneration>> start_chat(ModelSlot& slot, RequestLog& log, const ChatTurn& turn) {
  const EngineLease engine = slot.lease();
  if (!engine) return no_model();
  engine::GenerateRequest request;
  if (turn.completes) {
    LATHE_TRY(request.prompt_token_ids, text_ids(*engine, turn.messages));
  } else {
    LATHE_TRY(const auto spans, prompt_spans(*engine, turn.messages, turn.continue_final_message));
    LATHE_TRY(request.prompt_token_ids, engine->tokenizer().encode_spans(spans));
    request.reading = reading_of(engine->model(), spans, turn.continue_final_message);
  }
  const std::shared_ptr<const engine::AnswerReading> reading = request.reading;
  request.sampling = turn.sampling;
  request.source = turn.source;
  RequestRecord record;
  record.client = turn.client;
  record.route = turn.route;
  record.source = turn.source;
  record.model = engine->model().name;
  record.submitted_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  record.usage.n_prompt_tokens = static_cast<std::int64_t>(request.prompt_token_ids.size());
  LATHE_TRY(engine::RequestHandlePtr handle, engine->submit(std::move(request)));
  record.engine_id = handle->id();
  const engine::Usage usage = record.usage;
  const std::uint64_t number = log.begin(std::move(record));
  return std::make_unique<RunningGeneration>(std::move(handle), log, number, usage, reading.get(), turn.sampling);
}

Result<std::vector<std::int32_t>> prompt_ids(const engine::Engine& engine, const ChatTurn& turn) {
  if (turn.completes) return text_ids(engine, turn.messages);
  LATHE_TRY(const auto spans, prompt_spans(engine, turn.messages, turn.continue_final_message));
  return engine.tokenizer().encode_spans(spans);
}

Result<std::int64_t> count_tokens(ModelSlot& slot, const std::vector<engine::ChatMessage>& messages, bool completes) {
  const EngineLease engine = slot.lease();
  if (!engine) return no_model();
  ChatTurn turn;
  turn.messages = messages;
  turn.completes = completes;
  LATHE_TRY(const auto ids, prompt_ids(*engine, turn));
  return static_cast<std::int64_t>(ids.size());
}

}  // namespace lathe::app
