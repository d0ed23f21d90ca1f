// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/engine_loop.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/latest_value.h"
#include "engine/base/mailbox.h"
#include "engine/schedule/scheduler_invariant.h"
#include "engine/serve/constraint_store.h"
#include "engine/serve/engine_metrics.h"
#include "engine/serve/engine_snapshot.h"
#include "engine/serve/event_ring.h"
#include "engine/serve/generation.h"
#include "engine/serve/loop_settings.h"
#include "engine/serve/place_guard.h"
#include "engine/serve/request_check.h"
#include "engine/serve/step_sampler.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kEventsKept = 65'536;             // 4.5 MiB: minutes of the busiest traffic
constexpr std::int64_t kLookPeriodNs = 5'000'000;       // longest delay until a waiting request's cancellation is seen
constexpr std::int64_t kSnapshotPeriodNs = 33'333'333;  // 30 Hz: what a window can show

/// Mixes two numbers to one seed. Source: Steele, Lea and Flood 2014 (SplitMix64).
std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t request_id) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * request_id;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// Invariant: `living_` owns each Generation from receive() to the emit() of its last event.
class EngineLoop final : public Engine {
 public:
  explicit EngineLoop(EngineParts parts);
  ~EngineLoop() override { shut_down(std::chrono::milliseconds(0)); }

  const LoadedModel& model() const override { return parts_.model; }
  const Tokenizer& tokenizer() const override { return *parts_.tokenizer; }
  const ChatTemplate* chat_template() const override { return parts_.chat_template.get(); }
  Engine& embedder() override { return parts_.embedder != nullptr ? *parts_.embedder : *this; }
  Result<RequestHandlePtr> submit(GenerateRequest request) override;
  std::shared_ptr<const EngineSnapshot> snapshot() const override { return snapshot_.get(); }
  BlockWatch watch_blocks() override;
  std::optional<Error> failure() const override;
  std::vector<SchedulerEvent> events_since(std::uint64_t& cursor) const override { return events_.since(cursor); }
  void shut_down(std::chrono::milliseconds grace) override;

 private:
  // ---- the engine's thread
  void loop();
  void step();
  void rest();
  void receive();
  void drop_cancelled();
  void plan();
  void run();
  void sample();
  void commit();
  void detokenize();
  void release();
  void publish();
  void emit();

  std::int64_t now_ns() const { return parts_.clock->now_ns(); }
  bool take_place();

  static Generation& generation_of(const PlannedSequence& entry);
  Result<StepOutput> run_guarded();
  void fail_step(const Error& error);
  void fail_all(const Error& error);
  void take_token(Generation& generation);
  void take_state(Generation& generation);
  void jump_ahead(Generation& generation);
  void announce(Generation& generation);  ///< the generation has an event for this step's emit
  void note_end(const Generation& generation);
  void note_constraint(const Generation& generation);
  void erase(Generation& generation);
  std::shared_ptr<const EngineSnapshot> make_snapshot(std::int64_t now_ns) const;
  bool is_idle() const { return !scheduler_.has_work() && mailbox_.empty(); }

  // ---- shared by all threads
  EngineParts parts_;
  const RequestLimits limits_;
  ConstraintStore constraints_;
  std::atomic<std::uint64_t> last_id_{0};
  const std::int64_t max_unfinished_;  ///< running and waiting requests at most
  std::atomic<std::int64_t> n_unfinished_{0};
  std::atomic<bool> aborting_{false};
  std::optional<Error> failure_;         ///< written once, before has_failed_
  std::atomic<bool> has_failed_{false};  ///< the runner's device is lost
  const std::shared_ptr<std::atomic<bool>> any_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Mailbox<std::unique_ptr<Generation>> mailbox_;
  EventRing events_{kEventsKept};
  LatestValue<EngineSnapshot> snapshot_;
  const std::shared_ptr<std::atomic<int>> n_block_watches_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<bool> is_snapshot_due_{false};  ///< a watch began: the next publish() makes a snapshot

  // ---- the engine's thread alone
  Scheduler scheduler_;
  StepSampler sampler_;
  EngineMetrics metrics_{limits_.max_model_len};
  std::vector<std::unique_ptr<Generation>> living_;
  std::vector<Generation*> news_;  ///< generations with an event for this step's emit
  StepPlan* plan_ = nullptr;
  StepOutput output_;
  std::int64_t now_ns_ = 0, step_begin_ns_ = 0, published_ns_ = 0;
  double step_ms_ = 0;

  std::mutex end_mutex_;
  std::condition_variable ended_changed_;
  bool has_ended_ = false;
  std::jthread thread_;  ///< last member: all others exist when it starts
};

EngineLoop::EngineLoop(EngineParts parts)
    : parts_(std::move(parts)),
      limits_(request_limits(parts_.model.options, parts_.runner->limits())),
      constraints_(*parts_.tokenizer, limits_.vocab_size),
      max_unfinished_(scheduler_options(parts_.model.options, parts_.runner->limits()).max_num_seqs +
                      parts_.model.options.max_queue),
      snapshot_(std::make_shared<const EngineSnapshot>()),
      scheduler_(scheduler_options(parts_.model.options, parts_.runner->limits()), policy_of(parts_.model.options),
                 cache_of(parts_.model.options, parts_.runner->limits())),
      sampler_(*parts_.runner, parts_.model.n_threads, parts_.model.info.eos_ids, parts_.suppressed_ids) {
  snapshot_.publish(make_snapshot(now_ns()));
  if (parts_.measure) parts_.model.measured = parts_.measure();
  thread_ = std::jthread([this] { loop(); });
  pthread_setname_np(thread_.native_handle(), "lathe-engine");
}

// ---- any thread

/// Reserves a slot for an unfinished request; false when none is free.
bool EngineLoop::take_place() {
  if (n_unfinished_.fetch_add(1) < max_unfinished_) return true;
  n_unfinished_.fetch_sub(1);
  return false;
}

Result<RequestHandlePtr> EngineLoop::submit(GenerateRequest request) {
  LATHE_TRY_VOID(check_answer_kind(request, parts_.model));
  LATHE_TRY_VOID(check_request(request, limits_));
  if (const auto error = failure()) return tl::unexpected(*error);
  std::optional<ReadyConstraint> constraint;
  if (!request.sampling.structured_outputs.empty()) {
    LATHE_TRY(constraint, constraints_.get(request.sampling.structured_outputs));
  }
  const EngineOptions& options = parts_.model.options;
  if (!take_place()) {
    return fail(
        ErrorCode::resource_exhausted,
        fmt::format("{} requests are running or waiting already: max_num_seqs is {} and max_queue is {}. Try again later.",
                    max_unfinished_, max_unfinished_ - options.max_queue, options.max_queue));
  }
  PlaceGuard place{n_unfinished_};
  const std::uint64_t id = last_id_.fetch_add(1) + 1;
  auto handle = std::make_shared<RequestHandle>(id, any_cancelled_);
  auto generation = std::make_unique<Generation>(std::move(request), handle, *parts_.tokenizer,
                                                 mixed_seed(static_cast<std::uint64_t>(options.seed), id), limits_.context(),
                                                 static_cast<int>(limits_.block_size), now_ns());
  generation->reserve_windows(parts_.runner->limits().windows.size(), limits_.block_size);
  if (!parts_.suppressed_ids.empty()) generation->takes_best = false;  // the best token may be suppressed
  if (constraint) {
    generation->constrain(std::move(*constraint), *parts_.tokenizer, parts_.model.info.eos_ids, parts_.suppressed_ids);
    if (policy_of(options).is_lockstep) generation->jumps_ahead = false;
  }
  generation->choose_rope(parts_.runner->limits().rope_contexts);
  if (policy_of(options).reserves_context) generation->reserve_blocks(limits_.context(), limits_.block_size);
  if (!mailbox_.put(generation)) {
    return fail(ErrorCode::unavailable, "The model is being unloaded and takes no new requests.");
  }
  place.is_kept = true;
  return handle;
}

void EngineLoop::shut_down(std::chrono::milliseconds grace) {
  const auto patience = std::clamp(grace, std::chrono::milliseconds(0), std::chrono::milliseconds(std::chrono::hours(24)));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  mailbox_.close();
  if (parts_.embedder != nullptr) parts_.embedder->shut_down(patience);
  std::unique_lock lock(end_mutex_);
  const auto has_ended = [this] { return has_ended_; };
  if (ended_changed_.wait_until(lock, deadline, has_ended)) return;
  aborting_.store(true);
  ended_changed_.wait(lock, has_ended);
}

std::optional<Error> EngineLoop::failure() const {
  return has_failed_.load(std::memory_order_acquire) ? failure_ : std::nullopt;
}

BlockWatch EngineLoop::watch_blocks() {
  n_block_watches_->fetch_add(1);
  BlockWatch watch(n_block_watches_.get(), [count = n_block_watches_](const void*) { count->fetch_sub(1); });
  is_snapshot_due_.store(true, std::memory_order_release);
  mailbox_.wake();
  return watch;
}

// ---- the engine's thread

void EngineLoop::loop() {
  while (scheduler_.has_work() || mailbox_.wait()) {
    if (is_idle()) {  // woken for a snapshot
      publish();
      continue;
    }
    step();
    rest();
  }
  const std::lock_guard lock(end_mutex_);
  has_ended_ = true;
  ended_changed_.notify_all();
}

void EngineLoop::step() {
  receive();
  drop_cancelled();
  plan();
  publish();
  run();
  sample();
  commit();
  detokenize();
  release();
  publish();
  emit();
}

/// Sleeps while the policy waits for more requests. Wakes at least every kLookPeriodNs, since cancellations put nothing in
/// the mailbox.
void EngineLoop::rest() {
  if (plan_->batch().n_rows() > 0 || !scheduler_.has_work()) return;
  const std::int64_t left_ns = std::min(scheduler_.wake_ns() - now_ns(), kLookPeriodNs);
  if (left_ns > 0) mailbox_.wait_for(std::chrono::nanoseconds(left_ns));
}

/// Mailbox -> the scheduler's queue.
void EngineLoop::receive() {
  now_ns_ = step_begin_ns_ = now_ns();
  const std::size_t n_before = living_.size();
  mailbox_.take_all(living_);
  for (std::size_t i = n_before; i < living_.size(); ++i) {
    living_[i]->place = i;
    scheduler_.add(*living_[i], now_ns_);
    note_constraint(*living_[i]);
    // A request may have been cancelled in the mailbox, and the shared flag reset before the request could be checked.
    if (living_[i]->handle->cancelled()) any_cancelled_->store(true, std::memory_order_relaxed);
  }
}

/// Removes cancelled requests before the step is planned, so they cost no more work.
void EngineLoop::drop_cancelled() {
  const bool all = aborting_.load(std::memory_order_relaxed);
  if (!all && !any_cancelled_->exchange(false, std::memory_order_acquire)) return;
  for (const auto& generation : living_) {
    if (!all && !generation->handle->cancelled()) continue;
    generation->cancel();
    scheduler_.remove(*generation);
    announce(*generation);
  }
}

/// Waiting and running sequences -> the rows of this step.
void EngineLoop::plan() { plan_ = &scheduler_.plan(now_ns_); }

/// Rows -> logits or best tokens. A failure ends the requests of the step and nothing else, unless the device is lost.
void EngineLoop::run() {
  if (plan_->batch().n_rows() == 0) return;
  metrics_.count_step();
  Result<StepOutput> output = run_guarded();
  if (output) {
    output_ = *output;
    return;
  }
  output.error().code == ErrorCode::unavailable ? fail_all(output.error()) : fail_step(output.error());
  plan_->entries.clear();
}

/// Logits -> tokens and log probabilities.
void EngineLoop::sample() {
  if (!plan_->entries.empty()) sampler_.sample(*plan_, output_);
}

/// Tokens -> sequences; full blocks can be shared from here on.
void EngineLoop::commit() {
  now_ns_ = now_ns();
  for (const PlannedSequence& entry : plan_->entries) {
    Generation& generation = generation_of(entry);
    if (generation.lacks_probabilities(entry.samples)) {
      generation.end_with(generation.sampling_error());
      announce(generation);
      continue;
    }
    scheduler_.commit(entry);
    if (entry.samples) generation.pooling ? take_state(generation) : take_token(generation);
  }
}

/// Tokens -> text; finds stop strings; appends what a constraint forces next.
void EngineLoop::detokenize() {
  for (const PlannedSequence& entry : plan_->entries) {
    Generation& generation = generation_of(entry);
    if (!entry.samples || generation.pooling || generation.finish == FinishReason::error) continue;
    generation.add_text();
    if (generation.jumps_ahead) jump_ahead(generation);
  }
}

/// Ended requests return their blocks and are counted.
void EngineLoop::release() {
  for (Generation* generation : news_) {
    generation->complete_delta(now_ns_);
    if (generation->finish == FinishReason::none) continue;
    if (generation->state != SequenceState::done) scheduler_.remove(*generation, !generation->keeps_cache);
    n_unfinished_.fetch_sub(1, std::memory_order_relaxed);
    note_end(*generation);
    metrics_.count_end(*generation);
  }
  step_ms_ = ms_between(step_begin_ns_, now_ns_);
  scheduler_.note_step_time(now_ns_ - step_begin_ns_);
  LATHE_DCHECK(is_consistent(scheduler_));
}

/// Publishes events at every call; publishes a snapshot at 30 Hz, and at once when the engine is idle or a watch of blocks
/// has begun. It runs before emit(), so a reader who has seen the last answer end finds an idle engine.
void EngineLoop::publish() {
  events_.append(scheduler_.events());
  scheduler_.clear_events();
  const std::int64_t now_ns = this->now_ns();
  const bool is_due = is_snapshot_due_.exchange(false, std::memory_order_acquire);
  if (!is_due && !is_idle() && now_ns - published_ns_ < kSnapshotPeriodNs) return;
  published_ns_ = now_ns;
  snapshot_.publish(make_snapshot(now_ns));
}

/// The step's events -> the callers.
void EngineLoop::emit() {
  for (Generation* generation : news_) {
    generation->has_news = false;
    generation->handle->push(std::exchange(generation->delta, TokenEvent{}));
    if (generation->finish != FinishReason::none) erase(*generation);
  }
  news_.clear();
}

// ---- parts of the stages

Generation& EngineLoop::generation_of(const PlannedSequence& entry) { return static_cast<Generation&>(*entry.sequence); }

Result<StepOutput> EngineLoop::run_guarded() {
  try {
    return parts_.runner->run(plan_->batch());
  } catch (const std::exception& exception) {
    return fail(ErrorCode::internal, fmt::format("The step could not be computed: {}.", exception.what()));
  }
}

void EngineLoop::fail_step(const Error& error) {
  for (const PlannedSequence& entry : plan_->entries) {
    generation_of(entry).end_with(error);
    announce(generation_of(entry));
  }
}

/// Ends every request, also those that wait. Requests that are in the mailbox end here after their own first step.
void EngineLoop::fail_all(const Error& error) {
  if (!has_failed_.load(std::memory_order_relaxed)) {
    failure_ = error;
    has_failed_.store(true, std::memory_order_release);
  }
  for (const auto& generation : living_) {
    if (generation->finish != FinishReason::none) continue;  // cancelled in this step
    generation->end_with(error);
    announce(*generation);
  }
}

void EngineLoop::take_token(Generation& generation) {
  if (generation.n_output() == 0) {
    scheduler_.record(generation, SchedulerEventKind::prefilled, {generation.n_prompt - generation.n_cached}, now_ns_);
  }
  const std::int64_t since_ns = generation.last_token_ns;
  generation.accept_sample(parts_.model.info.eos_ids, now_ns_);
  metrics_.count_token(generation, since_ns);
  announce(generation);
}

void EngineLoop::take_state(Generation& generation) {
  scheduler_.record(generation, SchedulerEventKind::prefilled, {generation.n_prompt - generation.n_cached, 1}, now_ns_);
  std::vector<float> vector = std::move(generation.pooled);
  if (parts_.classifier) vector = parts_.classifier->logits(vector);
  else finish_vector(*generation.pooling, *parts_.model.vectors, vector);
  generation.accept_vector(std::move(vector), now_ns_);
  metrics_.count_vector(generation);
  announce(generation);
}

void EngineLoop::jump_ahead(Generation& generation) {
  const int n_tokens = generation.jump_ahead(parts_.model.info.eos_ids);
  if (n_tokens == 0) return;
  metrics_.count_jump(generation, n_tokens);
  scheduler_.record(generation, SchedulerEventKind::jumped_ahead, {n_tokens, generation.n_output()}, now_ns_);
}

void EngineLoop::announce(Generation& generation) {
  if (!std::exchange(generation.has_news, true)) news_.push_back(&generation);
}

void EngineLoop::note_end(const Generation& generation) {
  const bool cancelled = generation.finish == FinishReason::cancelled;
  const bool failed = generation.finish == FinishReason::error;
  scheduler_.record(generation,
                    cancelled ? SchedulerEventKind::cancelled
                    : failed  ? SchedulerEventKind::failed
                              : SchedulerEventKind::finished,
                    {generation.n_output(), static_cast<std::int64_t>(generation.finish),
                     static_cast<std::int64_t>(generation.stop_cause), std::ssize(generation.delta.vector)},
                    now_ns_);
}

void EngineLoop::note_constraint(const Generation& generation) {
  const AnswerConstraint* constraint = generation.constraint.get();
  if (constraint == nullptr) return;
  scheduler_.record(generation, SchedulerEventKind::constrained,
                    {static_cast<std::int64_t>(constraint->kind()), constraint->n_states(), constraint->compile_us(),
                     constraint->was_known() ? 1 : 0},
                    now_ns_);
}

void EngineLoop::erase(Generation& generation) {
  const std::size_t place = generation.place;
  std::swap(living_[place], living_.back());
  living_[place]->place = place;
  living_.pop_back();
}

std::shared_ptr<const EngineSnapshot> EngineLoop::make_snapshot(std::int64_t now_ns) const {
  auto snapshot = std::make_shared<EngineSnapshot>();
  snapshot->time_ns = now_ns;
  write_scheduler_state(scheduler_, n_block_watches_->load(std::memory_order_relaxed) > 0, *snapshot);
  snapshot->states.slot_bytes = parts_.runner->limits().state_slot_bytes;
  metrics_.write(scheduler_.counters(), *snapshot);
  snapshot->step_ms = step_ms_;
  snapshot->step_prefill_tokens = plan_ == nullptr ? 0 : plan_->n_prefill_tokens;
  snapshot->step_decode_tokens = plan_ == nullptr ? 0 : plan_->n_decode_tokens + plan_->n_jumped_tokens;
  snapshot->step_padding_tokens = plan_ == nullptr ? 0 : plan_->n_padding_tokens;
  snapshot->next_event = events_.next();
  return snapshot;
}

}  // namespace

std::unique_ptr<Engine> make_engine_loop(EngineParts parts) { return std::make_unique<EngineLoop>(std::move(parts)); }

}  // namespace lathe::engine
