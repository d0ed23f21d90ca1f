// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_engine.h"

#include <algorithm>

#include "engine/api/structured_outputs.h"
#include "kernels/api/check.h"
#include "tests/support/fake_states.h"
#include "tests/support/patience.h"
#include "tests/support/whole_characters.h"

namespace lathe::tests {

using engine::ErrorCode;
using engine::FinishReason;
using engine::GenerateRequest;
using engine::SchedulerEventKind;
using engine::TokenEvent;
using Clock = std::chrono::steady_clock;

struct FakeEngine::Active {
  engine::RequestHandlePtr handle;
  GenerateRequest request;
  FakePlan plan;
  std::size_t n_out = 0;
  std::string held;  ///< bytes of a character that is not complete
  bool running = false;
  int fail_after = -1;
  Clock::time_point submitted = Clock::now(), last_token;
  engine::RequestTimings timings;
  engine::Usage usage;
};

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

double ms_since(Clock::time_point from) { return std::chrono::duration<double, std::milli>(Clock::now() - from).count(); }

engine::HistogramSnapshot empty_histogram() { return {{0.001, 0.01, 0.1, 1, 10}, std::vector<std::uint64_t>(6), 0, 0}; }

void add_to(engine::HistogramSnapshot& histogram, double seconds) {
  const auto above = std::lower_bound(histogram.bounds.begin(), histogram.bounds.end(), seconds);
  ++histogram.counts[static_cast<std::size_t>(above - histogram.bounds.begin())];
  histogram.sum += seconds;
  ++histogram.count;
}

}  // namespace

FakeEngine::FakeEngine(const FakeModel& model)
    : fake_(model), ttft_(empty_histogram()), itl_(ttft_), e2e_(ttft_), queue_(ttft_) {
  model_.name = model.name;
  model_.info.name = model.name;
  model_.info.architecture = "FakeForCausalLM";
  model_.info.file_format = "none";
  model_.info.vocab_size = ByteTokenizer::kVocabSize;
  model_.info.max_position_embeddings = model.max_model_len;
  model_.info.has_chat_template = model.has_chat_template;
  model_.info.tokenizer = "bytes";
  model_.dtype = model_.kv_cache_dtype = "float32";
  model_.max_model_len = model.max_model_len;
  model_.n_blocks = model.n_blocks;
  model_.options.max_num_seqs = model.max_num_seqs;
  model_.options.max_queue = model.max_queue;
  model_.options.block_size = model.block_size;
  if (model.options) model_.options = *model.options;
  model_.default_max_tokens = model.default_max_tokens;
  model_.answer_formats = model.answer_formats;
  model_.answer_formats_with_tools = model.answer_formats_with_tools.value_or(model.answer_formats);
  model_.answer_markers = engine::answer_markers(model_.answer_formats, tokenizer_);
  model_.answer_markers_with_tools = engine::answer_markers(model_.answer_formats_with_tools, tokenizer_);
  if (model.chat_template.empty()) {
    template_ = std::make_unique<PlainChatTemplate>();
  } else {
    auto compiled = engine::compile_chat_template(model.chat_template, {"<s>", "</s>", "", ""});
    LATHE_CHECK(compiled.has_value());
    template_ = std::move(*compiled);
  }
  model_.backend = "cpu";
  model_.isa = "fake";
  model_.memory = {10 << 20, 2 << 20, 1 << 20, 0};
  model_.estimate.weights = 10 << 20;
  model_.estimate.kv = 2 << 20;
  model_.estimate.activations = 1 << 20;
  model_.estimate.n_blocks = model.n_blocks;
  model_.estimate.max_model_len = model.max_model_len;
  model_.measured = model.measured;
  model_.division = model.division;
  model_.generates = model.generates;
  model_.vectors = model.vectors;
  model_.labels = model.labels;
  answer_with([this](const GenerateRequest& request) { return tokenizer_.decode(request.prompt_token_ids, true); });
  thread_ = std::jthread([this](std::stop_token stopping) { run(stopping); });
}

FakeEngine::~FakeEngine() {
  shut_down(std::chrono::milliseconds(0));
  thread_.request_stop();
  thread_.join();
}

// ---- what a test says and learns

void FakeEngine::answer_with(Responder responder) {
  const std::lock_guard lock(mutex_);
  responder_ = std::move(responder);
}
void FakeEngine::answer_with(std::string text) {
  answer_with([text = std::move(text)](const GenerateRequest&) { return text; });
}
void FakeEngine::set_token_delay(std::chrono::milliseconds delay) {
  const std::lock_guard lock(mutex_);
  token_delay_ = delay;
}
void FakeEngine::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
  permits_ = 0;
}
void FakeEngine::step(int n_tokens) {
  const std::lock_guard lock(mutex_);
  permits_ += n_tokens;
  changed_.notify_all();
}
void FakeEngine::resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}
void FakeEngine::refuse_submits(std::optional<engine::Error> error) {
  const std::lock_guard lock(mutex_);
  submit_error_ = std::move(error);
}
void FakeEngine::lose_device(engine::Error error) {
  const std::lock_guard lock(mutex_);
  failure_ = submit_error_ = std::move(error);
}
void FakeEngine::fail_after(int n_tokens, engine::Error error, std::string held) {
  const std::lock_guard lock(mutex_);
  fail_after_ = n_tokens;
  run_error_ = std::move(error);
  held_ = std::move(held);
}
void FakeEngine::fail_only(std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  fails_seed_ = seed;
}
void FakeEngine::set_cached_tokens(std::int64_t n) {
  const std::lock_guard lock(mutex_);
  cached_tokens_ = n;
}
void FakeEngine::set_logprob(float logprob) {
  const std::lock_guard lock(mutex_);
  logprob_ = logprob;
}
std::vector<GenerateRequest> FakeEngine::submitted() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}
int FakeEngine::n_active() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(active_.size());
}
std::uint64_t FakeEngine::n_cancelled() const {
  const std::lock_guard lock(mutex_);
  return counters_.n_finished_abort;
}
bool FakeEngine::wait_for_active(int n) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds),
                           [&] { return static_cast<int>(active_.size()) == n; });
}

// ---- engine::Engine

engine::Result<engine::RequestHandlePtr> FakeEngine::submit(GenerateRequest request) {
  LATHE_TRY_VOID(engine::validate(request.sampling, model_.info.vocab_size));
  if (!request.sampling.structured_outputs.empty())  // the answer stays the scripted one
    LATHE_TRY_VOID(engine::check_structured_outputs(request.sampling.structured_outputs));
  const auto n_prompt = static_cast<std::int64_t>(request.prompt_token_ids.size());
  if (request.pooling) LATHE_TRY_VOID(engine::validate(*request.pooling, model_.vectors.value()));
  if (n_prompt == 0 || n_prompt >= model_.max_model_len + (request.pooling ? 1 : 0)) {
    return engine::fail(
        ErrorCode::invalid_argument,
        "the prompt has " + std::to_string(n_prompt) + " tokens, the context holds " + std::to_string(model_.max_model_len),
        "prompt");
  }
  const std::lock_guard lock(mutex_);
  if (submit_error_) return tl::unexpected(*submit_error_);
  if (closing_) return engine::fail(ErrorCode::unavailable, "the engine is shutting down");
  if (active_.size() >= static_cast<std::size_t>(fake_.max_num_seqs + fake_.max_queue)) {
    return engine::fail(ErrorCode::resource_exhausted,
                        "the queue is full: " + std::to_string(fake_.max_queue) + " requests wait");
  }
  auto active = std::make_unique<Active>();
  active->handle = std::make_shared<engine::RequestHandle>(next_id_++);
  active->plan = plan_for(request);
  if (!fails_seed_ || request.sampling.seed == fails_seed_) active->fail_after = fail_after_;
  active->usage.n_prompt_tokens = n_prompt;
  active->usage.n_cached_tokens = std::min(cached_tokens_, n_prompt);
  active->request = request;
  submitted_.push_back(std::move(request));
  record(SchedulerEventKind::queued, active->handle->id(), {static_cast<std::int64_t>(active_.size()), 0, 0, 0});
  const engine::RequestHandlePtr handle = active->handle;
  active_.push_back(std::move(active));
  changed_.notify_all();
  return handle;
}

FakePlan FakeEngine::plan_for(const GenerateRequest& request) const {
  const auto left = static_cast<std::size_t>(model_.max_model_len) - request.prompt_token_ids.size();
  const auto asked = static_cast<std::size_t>(std::max<std::int64_t>(request.sampling.max_tokens, 0));
  return plan_answer(responder_(request), request, asked > 0 ? std::min(left, asked) : left);
}

std::optional<engine::Error> FakeEngine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

engine::BlockWatch FakeEngine::watch_blocks() {
  n_block_watches_->fetch_add(1);
  return {n_block_watches_.get(), [count = n_block_watches_](const void*) { count->fetch_sub(1); }};
}

std::shared_ptr<const engine::EngineSnapshot> FakeEngine::snapshot() const {
  const std::lock_guard lock(mutex_);
  auto snapshot = std::make_shared<engine::EngineSnapshot>();
  snapshot->time_ns = now_ns();
  snapshot->step = step_;
  snapshot->block_size = fake_.block_size;
  snapshot->n_blocks = fake_.n_blocks;
  snapshot->blocks.resize(static_cast<std::size_t>(fake_.n_blocks));
  for (const auto& active : active_) {
    ++(active->running ? snapshot->n_running : snapshot->n_waiting);
    engine::ActiveRequest row;
    row.id = active->handle->id();
    row.phase = active->running ? engine::RequestPhase::decode : engine::RequestPhase::queued;
    row.source = active->request.source;
    row.n_prompt = active->usage.n_prompt_tokens;
    row.n_output = static_cast<std::int64_t>(active->n_out);
    row.n_blocks = active->running ? blocks_of(*active) : 0;
    for (int i = 0; i < row.n_blocks && snapshot->n_blocks_used < fake_.n_blocks; ++i) {
      snapshot->blocks[static_cast<std::size_t>(snapshot->n_blocks_used++)] = {
          row.id, 1, static_cast<std::int16_t>(fake_.block_size), false};
    }
    for (int i = 0; active->running && i < fake_.n_reserved_blocks && snapshot->n_blocks_used < fake_.n_blocks; ++i) {
      snapshot->blocks[static_cast<std::size_t>(snapshot->n_blocks_used++)] = {row.id, 1, 0, false};
      snapshot->n_kv_reserved += fake_.block_size;
      ++row.n_blocks;
    }
    snapshot->requests.push_back(std::move(row));
  }
  if (n_block_watches() == 0) snapshot->blocks = {};
  snapshot->n_blocks_free = fake_.n_blocks - snapshot->n_blocks_used;
  if (const int n = fake_.n_window_blocks; n > 0) {
    const int n_used = std::min(n, snapshot->n_running);
    snapshot->windows = {{.window = 512, .n_blocks = n, .n_blocks_used = n_used, .n_blocks_free = n - n_used}};
  }
  if (fake_.n_snapshots > 0) snapshot->states = fake_states(fake_.n_snapshots, *snapshot, n_block_watches() > 0);
  snapshot->step_decode_tokens = snapshot->n_running;
  snapshot->step_padding_tokens = step_ > 0 ? fake_.n_padding : 0;
  snapshot->counters = counters_;
  snapshot->ttft_s = ttft_;
  snapshot->itl_s = itl_;
  snapshot->e2e_s = e2e_;
  snapshot->queue_s = queue_;
  snapshot->prefill_s = snapshot->decode_s = empty_histogram();
  snapshot->next_event = events_.size();
  return snapshot;
}

std::vector<engine::SchedulerEvent> FakeEngine::events_since(std::uint64_t& cursor) const {
  const std::lock_guard lock(mutex_);
  std::vector<engine::SchedulerEvent> events;
  for (; cursor < events_.size(); ++cursor) events.push_back(events_[cursor]);
  return events;
}

void FakeEngine::shut_down(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  closing_ = true;
  if (!paused_) changed_.wait_for(lock, grace, [&] { return active_.empty(); });
  for (const auto& active : active_) active->handle->cancel();
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::seconds(5), [&] { return active_.empty(); });
}

// ---- the engine's thread

void FakeEngine::run(std::stop_token stopping) {
  std::unique_lock lock(mutex_);
  while (!stopping.stop_requested()) {
    if (active_.empty()) {
      changed_.wait(lock, stopping, [&] { return !active_.empty(); });
      continue;
    }
    admit();
    step_all();
    const bool moves = !paused_ || permits_ > 0;
    // A paused engine looks for cancelled requests now and then: handles tell nobody when they are cancelled.
    const std::chrono::milliseconds pause = moves ? token_delay_ : std::chrono::milliseconds(1);
    if (pause.count() > 0) {
      changed_.wait_for(lock, stopping, pause, [&] { return !moves && (!paused_ || permits_ > 0); });
    } else {  // lets callers in between two steps
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
}

void FakeEngine::admit() {
  int n_running = 0;
  for (const auto& active : active_) {
    if (++n_running > fake_.max_num_seqs) break;
    if (active->running) continue;
    active->running = true;
    active->timings.queue_ms = ms_since(active->submitted);
    add_to(queue_, active->timings.queue_ms / 1000);
    record(SchedulerEventKind::admitted, active->handle->id(),
           {active->usage.n_prompt_tokens, active->usage.n_cached_tokens, active->usage.n_prompt_tokens, 0});
  }
}

void FakeEngine::step_all() {
  const bool moves = !paused_ || permits_ > 0;
  if (paused_ && permits_ > 0) --permits_;
  if (moves) {
    ++step_;
    counters_.n_padding_tokens += static_cast<std::uint64_t>(fake_.n_padding);
    counters_.n_kv_reserved += static_cast<std::uint64_t>(fake_.n_reserved_blocks * fake_.block_size);
  }
  const auto before = active_.size();
  std::erase_if(active_, [&](const std::unique_ptr<Active>& active) {
    if (active->handle->cancelled()) {
      finish(*active, TokenEvent(), FinishReason::cancelled);
      return true;
    }
    return moves && active->running && !step_one(*active);
  });
  if (active_.size() != before) changed_.notify_all();
}

/// Emits one token; false when that was the last.
bool FakeEngine::step_one(Active& active) {
  TokenEvent event;
  if (active.fail_after >= 0 && active.n_out >= static_cast<std::size_t>(active.fail_after)) {
    event.error = run_error_;
    event.text = held_;
    finish(active, std::move(event), FinishReason::error);
    return false;
  }
  if (active.request.pooling) {
    emit_vector(active);
    return false;
  }
  if (active.n_out == 0) {
    emit_first(active, event);
    counters_.n_prefill_tokens += static_cast<std::uint64_t>(active.usage.n_prompt_tokens - active.usage.n_cached_tokens);
    if (active.request.counts_prompt) {
      counters_.n_prompt_tokens += static_cast<std::uint64_t>(active.usage.n_prompt_tokens);
      counters_.n_prefix_queries += static_cast<std::uint64_t>(active.usage.n_prompt_tokens);
      counters_.n_prefix_hits += static_cast<std::uint64_t>(active.usage.n_cached_tokens);
    }
    active.timings.ttft_ms = ms_since(active.submitted);
    add_to(ttft_, active.timings.ttft_ms / 1000);
    record(SchedulerEventKind::prefilled, active.handle->id(), {active.usage.n_prompt_tokens, 0, 0, 0});
  } else {
    add_to(itl_, ms_since(active.last_token) / 1000);
  }
  active.last_token = Clock::now();
  emit_token(active, event);
  if (active.request.counts_output) ++counters_.n_generation_tokens;
  active.usage.n_completion_tokens = static_cast<std::int64_t>(active.n_out);
  if (active.n_out == active.plan.ids.size()) {
    finish(active, std::move(event), active.plan.reason);
    return false;
  }
  event.usage = active.usage;
  event.timings = active.timings;
  active.handle->push(std::move(event));
  return true;
}

/// The first elements count the tokens of each remainder, so that texts of other tokens have other vectors.
void FakeEngine::emit_vector(Active& active) {
  TokenEvent event;
  const bool classifies = active.request.pooling->classifies;
  const auto n = classifies ? model_.labels->labels.size() : static_cast<std::size_t>(model_.vectors->n_dimensions);
  event.vector.resize(n);
  for (const std::int32_t id : active.request.prompt_token_ids) event.vector[static_cast<std::size_t>(id) % n] += 1;
  if (!classifies) engine::finish_vector(*active.request.pooling, *model_.vectors, event.vector);
  counters_.n_prompt_tokens += static_cast<std::uint64_t>(active.usage.n_prompt_tokens);
  finish(active, std::move(event), FinishReason::stop);
}

void FakeEngine::emit_first(Active& active, TokenEvent& event) const {
  const auto& k = active.request.sampling.prompt_logprobs;
  if (!k) return;
  event.prompt_logprobs.emplace_back();
  for (std::size_t i = 1; i < active.request.prompt_token_ids.size(); ++i) {
    engine::LogprobList list = {{active.request.prompt_token_ids[i], -1.0F, 7}};
    for (std::int64_t j = 0; j < *k; ++j)
      list.push_back({static_cast<std::int32_t>('a' + j), -2.0F - static_cast<float>(j), static_cast<std::int32_t>(j + 1)});
    event.prompt_logprobs.push_back(std::move(list));
  }
}

void FakeEngine::emit_token(Active& active, TokenEvent& event) const {
  const std::size_t i = active.n_out++;
  const std::int32_t id = active.plan.ids[i];
  event.token_ids.push_back(id);
  if (const auto& k = active.request.sampling.logprobs) {
    event.chosen_logprobs.push_back({id, logprob_, 1});
    event.text_offsets.push_back(characters_of(active.plan.ids, i));
    engine::LogprobList list;
    for (std::int64_t j = 0; j < *k; ++j)
      list.push_back({(id + static_cast<std::int32_t>(j)) % ByteTokenizer::kVocabSize, logprob_ - static_cast<float>(j),
                      static_cast<std::int32_t>(j + 1)});
    event.logprobs.push_back(std::move(list));
  }
  if (active.request.reading && id >= ByteTokenizer::kBos && i < active.plan.visible.size()) event.marks.push_back({0, id});
  if (i < active.plan.visible.size()) active.held += active.plan.visible[i];
  const bool last = active.n_out == active.plan.ids.size();
  const std::size_t whole = whole_characters(active.held);
  event.text = active.held.substr(0, whole);
  active.held.erase(0, whole);
  if (last && !active.held.empty()) event.text += "\xEF\xBF\xBD";
}

void FakeEngine::finish(Active& active, TokenEvent event, FinishReason reason) {
  active.timings.end_ms = ms_since(active.submitted);
  event.finished = true;
  event.finish_reason = reason;
  if (reason == FinishReason::stop) {
    event.stop_cause = active.plan.stop_cause;
    event.stop_reason = active.plan.stop_reason;
  }
  event.usage = active.usage;
  event.timings = active.timings;
  switch (reason) {
    case FinishReason::cancelled: ++counters_.n_finished_abort; break;
    case FinishReason::error: ++counters_.n_finished_error; break;
    case FinishReason::length: ++counters_.n_finished_length; break;
    default: ++counters_.n_finished_stop; break;
  }
  add_to(e2e_, active.timings.end_ms / 1000);
  record(reason == FinishReason::cancelled ? SchedulerEventKind::cancelled : SchedulerEventKind::finished,
         active.handle->id(), {static_cast<std::int64_t>(active.n_out), static_cast<std::int64_t>(reason), 0, 0});
  active.handle->push(std::move(event));
}

int FakeEngine::blocks_of(const Active& active) const {
  const auto n_tokens = static_cast<int>(active.usage.n_prompt_tokens) + static_cast<int>(active.n_out);
  return (n_tokens + fake_.block_size - 1) / fake_.block_size;
}

void FakeEngine::record(SchedulerEventKind kind, std::uint64_t id, std::array<std::int64_t, 4> n) {
  events_.push_back({events_.size(), now_ns(), step_, id, kind, n});
}

// ---- loading

app::EngineLoader fake_loader(FakeLoad load) {
  return [load = std::move(load)](const engine::EngineOptions& options,
                                  const engine::LoadObserver& observer) -> engine::Result<std::unique_ptr<engine::Engine>> {
    constexpr std::int64_t bytes = 10 << 20;
    for (int step = 0; step < load.n_steps; ++step) {
      if (load.before_step) load.before_step(step);
      const engine::LoadProgress progress{engine::LoadPhase::reading, bytes * (step + 1) / load.n_steps, bytes, 0};
      if (observer && !observer(progress)) return engine::fail(ErrorCode::cancelled, "the load was cancelled");
    }
    if (load.error) return tl::unexpected(*load.error);
    if (const auto refused = load.refuse ? load.refuse(options) : std::nullopt) return tl::unexpected(*refused);
    FakeModel model = load.model;
    model.options = options;
    if (!options.served_model_name.empty()) model.name = options.served_model_name;
    auto fake = std::make_unique<FakeEngine>(model);
    if (load.loaded) load.loaded(*fake);
    return fake;
  };
}

}  // namespace lathe::tests
