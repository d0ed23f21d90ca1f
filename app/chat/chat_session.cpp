// SPDX-License-Identifier: Apache-2.0
#include "app/api/chat_session.h"

#include <chrono>

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;
using engine::TokenEvent;

class RunningGeneration final : public ChatGeneration {
 public:
  RunningGeneration(engine::RequestHandlePtr handle, RequestLog& log, std::uint64_t number, const engine::Usage& usage)
      : handle_(std::move(handle)), log_(log), number_(number), usage_(usage) {}

  ~RunningGeneration() override {
    if (finished_) return;
    handle_->cancel();
    // Nobody will read the last event: its row must not stand as running for ever.
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

  bool poll(TokenEvent& event) override { return noted(handle_->poll(event), event); }
  bool wait(TokenEvent& event, std::chrono::milliseconds timeout) override {
    return noted(handle_->wait(event, timeout), event);
  }

 private:
  bool noted(bool arrived, const TokenEvent& event) {
    if (!arrived) return false;
    finished_ = finished_ || event.finished;
    usage_ = event.usage;
    timings_ = event.timings;
    log_.update(number_, event);
    return true;
  }

  const engine::RequestHandlePtr handle_;
  RequestLog& log_;
  const std::uint64_t number_;
  engine::Usage usage_;  // last told
  engine::RequestTimings timings_;
  bool finished_ = false;
};

Result<std::vector<std::int32_t>> prompt_ids(const engine::Engine& engine, const std::vector<engine::ChatMessage>& messages,
                                             bool continue_final_message) {
  const engine::ChatTemplate* chat_template = engine.chat_template();
  if (chat_template == nullptr) {
    return engine::fail(ErrorCode::invalid_argument,
                        "this model has no chat template: it only completes text (lathe complete, /v1/completions)",
                        "tokenizer_config.json: chat_template");
  }
  engine::ChatRenderOptions options;
  options.continue_final_message = continue_final_message;
  options.add_generation_prompt = !continue_final_message;
  LATHE_TRY(const auto spans, chat_template->render(messages, options));
  return engine.tokenizer().encode_spans(spans);
}

tl::unexpected<engine::Error> no_model() {
  return engine::fail(ErrorCode::unavailable, "no model is loaded; load one first", "model");
}

}  // namespace

Result<std::unique_ptr<ChatGeneration>> start_chat(ModelSlot& slot, RequestLog& log, const ChatTurn& turn) {
  const EngineLease engine = slot.lease();
  if (!engine) return no_model();
  engine::GenerateRequest request;
  LATHE_TRY(request.prompt_token_ids, prompt_ids(*engine, turn.messages, turn.continue_final_message));
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
  return std::make_unique<RunningGeneration>(std::move(handle), log, number, usage);
}

Result<std::int64_t> count_tokens(ModelSlot& slot, const std::vector<engine::ChatMessage>& messages) {
  const EngineLease engine = slot.lease();
  if (!engine) return no_model();
  LATHE_TRY(const auto ids, prompt_ids(*engine, messages, false));
  return static_cast<std::int64_t>(ids.size());
}

}  // namespace lathe::app
