// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_loader.h"

#include "engine/serve/engine_loop.h"
#include "tests/support/fake_tokenizer.h"

namespace lathe::tests {
namespace {

/// "user:text;" for each message and "assistant:" at the end.
class PlainTemplate final : public engine::ChatTemplate {
 public:
  engine::Result<std::vector<engine::TextSpan>> render(const std::vector<engine::ChatMessage>& messages,
                                                       const engine::ChatRenderOptions& options) const override {
    if (messages.empty()) return engine::fail(engine::ErrorCode::invalid_argument, "no messages", "messages");
    std::vector<engine::TextSpan> spans;
    for (const engine::ChatMessage& message : messages) {
      spans.push_back({message.role + ":", true});
      spans.push_back({message.content, false});
      const bool open = options.continue_final_message && &message == &messages.back();
      if (!open) spans.push_back({";", true});
    }
    if (options.add_generation_prompt) spans.push_back({"assistant:", true});
    return spans;
  }
  const std::string& source(bool) const override { return source_; }

 private:
  std::string source_ = "plain";
};

/// Counts how many engines exist.
class CountedEngine final : public engine::Engine {
 public:
  CountedEngine(std::unique_ptr<Engine> inner, std::shared_ptr<LoaderScript> script)
      : inner_(std::move(inner)), script_(std::move(script)) {
    ++script_->n_alive;
  }
  ~CountedEngine() override {
    inner_.reset();
    --script_->n_alive;
  }
  const engine::LoadedModel& model() const override { return inner_->model(); }
  const engine::Tokenizer& tokenizer() const override { return inner_->tokenizer(); }
  const engine::ChatTemplate* chat_template() const override { return inner_->chat_template(); }
  engine::Result<engine::RequestHandlePtr> submit(engine::GenerateRequest request) override {
    return inner_->submit(std::move(request));
  }
  std::shared_ptr<const engine::EngineSnapshot> snapshot() const override { return inner_->snapshot(); }
  engine::BlockWatch watch_blocks() override { return inner_->watch_blocks(); }
  std::optional<engine::Error> failure() const override { return inner_->failure(); }
  std::vector<engine::SchedulerEvent> events_since(std::uint64_t& cursor) const override {
    return inner_->events_since(cursor);
  }
  void shut_down(std::chrono::milliseconds grace) override { inner_->shut_down(grace); }

 private:
  std::unique_ptr<Engine> inner_;
  const std::shared_ptr<LoaderScript> script_;
};

std::unique_ptr<engine::Engine> make_engine(const LoaderScript& script, const engine::EngineOptions& options) {
  const HarnessOptions& harness = script.engine;
  engine::EngineParts parts;
  parts.model.options = options;
  parts.model.info.path = options.model;
  parts.model.name = options.served_model_name.empty() ? "fake" : options.served_model_name;
  parts.model.max_model_len = harness.max_model_len;
  parts.model.n_blocks = harness.n_blocks;
  parts.model.isa = "scalar";
  parts.model.dtype = "float32";
  parts.tokenizer = std::make_unique<FakeTokenizer>(static_cast<std::int32_t>(harness.vocab_size));
  parts.model.info.eos_ids = parts.tokenizer->eos_ids();
  if (script.with_chat_template) parts.chat_template = std::make_unique<PlainTemplate>();
  const engine::RunnerLimits limits{.vocab_size = harness.vocab_size,
                                    .max_model_len = harness.max_model_len,
                                    .block_size = harness.block_size,
                                    .n_blocks = harness.n_blocks,
                                    .max_rows = static_cast<int>(engine::batched_tokens(options)),
                                    .max_logit_rows = harness.max_logit_rows};
  parts.runner = std::make_unique<FakeRunner>(limits, script.runner);
  return engine::make_engine_loop(std::move(parts));
}

}  // namespace

app::EngineLoader fake_loader(std::shared_ptr<LoaderScript> script) {
  return [script](const engine::EngineOptions& options,
                  const engine::LoadObserver& observer) -> engine::Result<std::unique_ptr<engine::Engine>> {
    ++script->n_loads;
    for (int i = 0; i < script->n_reports; ++i) {
      if (script->before_report) script->before_report(i);
      if (!observer({engine::LoadPhase::reading, i + 1, script->n_reports, 0.0})) {
        return engine::fail(engine::ErrorCode::cancelled, "loading was cancelled", options.model);
      }
    }
    if (script->error) return tl::unexpected<engine::Error>(*script->error);
    return std::make_unique<CountedEngine>(make_engine(*script, options), script);
  };
}

engine::EngineOptions fake_options(const std::string& path) {
  engine::EngineOptions options;
  options.model = path;
  return options;
}

}  // namespace lathe::tests
