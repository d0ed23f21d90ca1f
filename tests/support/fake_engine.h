// SPDX-License-Identifier: Apache-2.0
// FakeEngine: an Engine without a model, whose every token, delay and failure a test decides.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/api/model_slot.h"
#include "engine/api/engine.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/fake_plan.h"

namespace lathe::tests {

struct FakeModel {
  std::string name = "fake";
  std::int64_t max_model_len = 4096;
  int n_blocks = 1024, block_size = 16;
  int max_num_seqs = 64, max_queue = 1024;
  int n_reserved_blocks = 0;  ///< that each running request holds besides, empty
  int n_window_blocks = 0;    ///< of layers with a window of 512; each running request holds one
  int n_snapshots = 0;        ///< of the states of recurrent layers; 0: there are no such layers
  int n_padding = 0;          ///< rows that each step computes for nobody
  bool has_chat_template = true;
  std::string chat_template;                                       ///< Jinja; empty: PlainChatTemplate
  engine::AnswerFormats answer_formats;                            ///< that a load found
  std::optional<engine::AnswerFormats> answer_formats_with_tools;  ///< where they differ
  std::optional<engine::EngineOptions> options;                    ///< as asked; fake_loader sets it
  std::optional<std::int64_t> default_max_tokens;                  ///< of generation_config.json
  std::optional<engine::MeasuredMemory> measured;                  ///< that the load took; 10, 2, 1 and 0 MiB were estimated
  std::optional<engine::DeviceDivision> division;                  ///< of a device
  bool generates = true;
  std::optional<engine::LabelInfo> labels;  ///< of a classifier
  std::optional<engine::VectorInfo> vectors = engine::VectorInfo{.n_dimensions = 4};
};

/// Answers one byte a step to every running request. Runs freely until told to pause. Thread: any.
class FakeEngine final : public engine::Engine {
 public:
  using Responder = std::function<std::string(const engine::GenerateRequest&)>;

  explicit FakeEngine(const FakeModel& model = {});
  ~FakeEngine() override;

  const engine::LoadedModel& model() const override { return model_; }
  const engine::Tokenizer& tokenizer() const override { return tokenizer_; }
  const engine::ChatTemplate* chat_template() const override { return fake_.has_chat_template ? template_.get() : nullptr; }
  engine::Result<engine::RequestHandlePtr> submit(engine::GenerateRequest request) override;
  std::shared_ptr<const engine::EngineSnapshot> snapshot() const override;
  engine::BlockWatch watch_blocks() override;
  std::optional<engine::Error> failure() const override;
  std::vector<engine::SchedulerEvent> events_since(std::uint64_t& cursor) const override;
  void shut_down(std::chrono::milliseconds grace) override;

  // ---- what a test says
  void answer_with(Responder responder);  ///< for requests from now on; default: the text of the prompt
  void answer_with(std::string text);
  void set_token_delay(std::chrono::milliseconds delay);
  void pause();             ///< no more tokens; cancelled requests still end
  void step(int n_tokens);  ///< while paused: so many tokens for every running request
  void resume();
  void refuse_submits(std::optional<engine::Error> error);
  void lose_device(engine::Error error);  ///< failure() from now on
  /// Requests from now on; 0: as soon as they run. `held`: text that comes out with the error.
  void fail_after(int n_tokens, engine::Error error, std::string held = {});
  void fail_only(std::uint64_t seed);      ///< of those that fail_after means
  void set_cached_tokens(std::int64_t n);  ///< of each prompt, as told in usage
  void set_logprob(float logprob);         ///< of every chosen token

  // ---- what a test learns
  std::vector<engine::GenerateRequest> submitted() const;
  int n_active() const;  ///< running and waiting
  std::uint64_t n_cancelled() const;
  int n_block_watches() const { return n_block_watches_->load(); }
  /// Waits until the engine's state fulfils the condition, at most 20 s. The condition is called under the engine's lock.
  bool wait_for_active(int n) const;

 private:
  struct Active;
  void run(std::stop_token stopping);
  void admit();
  void step_all();
  bool step_one(Active& active);
  void emit_vector(Active& active);
  void emit_first(Active& active, engine::TokenEvent& event) const;
  void emit_token(Active& active, engine::TokenEvent& event) const;
  void finish(Active& active, engine::TokenEvent event, engine::FinishReason reason);
  FakePlan plan_for(const engine::GenerateRequest& request) const;
  void record(engine::SchedulerEventKind kind, std::uint64_t id, std::array<std::int64_t, 4> n = {});
  int blocks_of(const Active& active) const;

  const FakeModel fake_;
  engine::LoadedModel model_;
  ByteTokenizer tokenizer_;
  std::unique_ptr<engine::ChatTemplate> template_;

  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  Responder responder_;
  std::chrono::milliseconds token_delay_{0};
  bool paused_ = false, closing_ = false;
  int permits_ = 0;
  std::optional<engine::Error> submit_error_, run_error_, failure_;
  int fail_after_ = -1;
  std::string held_;
  std::optional<std::uint64_t> fails_seed_;
  std::int64_t cached_tokens_ = 0;
  float logprob_ = -0.5F;
  std::uint64_t next_id_ = 1, step_ = 0;
  const std::shared_ptr<std::atomic<int>> n_block_watches_ = std::make_shared<std::atomic<int>>(0);
  std::vector<std::unique_ptr<Active>> active_;  ///< in order of arrival; the first max_num_seqs run
  std::vector<engine::GenerateRequest> submitted_;
  std::vector<engine::SchedulerEvent> events_;
  engine::EngineCounters counters_;
  engine::HistogramSnapshot ttft_, itl_, e2e_, queue_;
  std::jthread thread_;
};

/// How a load goes.
struct FakeLoad {
  FakeModel model;
  int n_steps = 4;                            ///< calls of the observer
  std::optional<engine::Error> error;         ///< instead of an engine, after the last step
  std::function<void(int step)> before_step;  ///< may block the load
  /// Asked after the last step; an error refuses just this load.
  std::function<std::optional<engine::Error>(const engine::EngineOptions&)> refuse;
  std::function<void(FakeEngine&)> loaded;  ///< a way to get hold of the engine
};
app::EngineLoader fake_loader(FakeLoad load);

}  // namespace lathe::tests
