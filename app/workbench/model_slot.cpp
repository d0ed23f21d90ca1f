// SPDX-License-Identifier: Apache-2.0
#include "app/api/model_slot.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace lathe::app {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Error;
using engine::ErrorCode;
using engine::Result;

/// Time for running streams to end by themselves. Closing the window must take less than 3 s in total.
constexpr std::chrono::milliseconds kUnloadGrace{500};

/// Time between two looks at the requests that are being finished.
constexpr std::chrono::milliseconds kFinishLook{50};

/// A load that failed: its model, and why.
struct FailedLoad {
  std::string model;
  Error error;
};

/// Newest states of an engine and of its embedder.
std::vector<std::shared_ptr<const engine::EngineSnapshot>> snapshots_of(Engine& engine) {
  std::vector<std::shared_ptr<const engine::EngineSnapshot>> snapshots{engine.snapshot()};
  if (Engine& embedder = engine.embedder(); &embedder != &engine) snapshots.push_back(embedder.snapshot());
  return snapshots;
}

int n_requests(Engine& engine) {
  int n = 0;
  for (const auto& snapshot : snapshots_of(engine)) n += snapshot->n_running + snapshot->n_waiting;
  return n;
}

/// Waits for requests of an engine that gets no new ones. A snapshot may be as old as the running step, which may take
/// seconds; only one that was made after it was asked for shows that the engine is idle.
class IdleLook {
 public:
  explicit IdleLook(Engine& engine) : engine_(engine), before_(snapshots_of(engine)) {
    watches_.push_back(engine.watch_blocks());  // asks for a snapshot: at once, or after the running step
    if (Engine& embedder = engine.embedder(); &embedder != &engine) watches_.push_back(embedder.watch_blocks());
  }
  bool is_idle() const {
    const auto now = snapshots_of(engine_);
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] == before_[i] || now[i]->n_running + now[i]->n_waiting > 0) return false;
    return true;
  }

 private:
  Engine& engine_;
  const std::vector<std::shared_ptr<const engine::EngineSnapshot>> before_;
  std::vector<engine::BlockWatch> watches_;
};

class ThreadedModelSlot final : public ModelSlot {
 public:
  ThreadedModelSlot(EngineLoader loader, EngineChecker checker)
      : loader_(std::move(loader)), checker_(std::move(checker)), thread_([this] { work(); }) {}

  ~ThreadedModelSlot() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      cancelled_ = true;
      published_ = nullptr;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Never waits: while the engine is being removed, the lease is empty.
  EngineLease lease() const override {
    std::shared_lock lock(lease_mutex_, std::try_to_lock);
    Engine* engine = lock ? published_.load() : nullptr;
    return engine == nullptr ? EngineLease() : EngineLease(std::move(lock), engine);
  }

  ModelStatus status() const override {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  Result<void> load(const EngineOptions& options, Ending ending) override {
    {
      const std::lock_guard lock(mutex_);
      if (status_.state == ModelState::loading || !status_.next.empty()) {
        return engine::fail(
            ErrorCode::conflict,
            fmt::format("{} is being loaded; cancel that first", status_.next.empty() ? status_.path : status_.next),
            "model");
      }
      wanted_ = options;
      ending_ = ending;
      cancelled_ = false;
      if (published_ != nullptr && checker_) {
        enter(ModelState::ready, status_.path);
        status_.next = options.model;
      } else {
        begin_unloading(options.model);
      }
    }
    changed_.notify_all();
    return {};
  }

  void cancel_load() override {
    {
      const std::lock_guard lock(mutex_);
      if (status_.state == ModelState::loading || !status_.next.empty()) cancelled_ = true;
    }
    changed_.notify_all();
  }

  void unload(Ending ending) override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = published_ != nullptr ? ending : Ending::cut;
      cancelled_ = ending_ == Ending::cut;
      unload_wanted_ = true;
      wanted_.reset();
      if (ending_ == Ending::finish) {
        begin_unloading(status_.path);
      } else {
        published_ = nullptr;
        // A running load ends by itself as cancelled; its thread then sets the state.
        const bool is_idle = status_.state == ModelState::ready || status_.state == ModelState::failed || !busy_;
        if (is_idle && status_.state != ModelState::none) enter(ModelState::none, {});
      }
    }
    changed_.notify_all();
  }

  Result<void> wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return status_.state != ModelState::loading && !busy_ && !unload_wanted_ && !wanted_; });
    if (status_.error) return tl::unexpected<Error>(*status_.error);
    return {};
  }

 private:
  /// Requires: mutex_ is locked.
  void enter(ModelState state, const std::string& path) {
    ModelStatus entered;
    entered.state = state;
    entered.path = path;
    entered.generation = status_.generation + 1;
    entered.n_engines = status_.n_engines;
    status_ = std::move(entered);
  }

  /// Takes the engine from its users; it still exists. Requires: mutex_ is locked.
  void begin_unloading(const std::string& path) {
    Engine* engine = published_.exchange(nullptr);
    enter(ModelState::loading, path);
    if (engine != nullptr && ending_ == Ending::finish) status_.n_finishing = n_requests(*engine);
  }

  /// Publishes the engine that exists again, after a load that did not replace it. Requires: mutex_ is locked, and nobody
  /// wants it unloaded.
  void keep_engine(std::optional<FailedLoad> failure) {
    enter(ModelState::ready, running_->model);
    set_failure(std::move(failure));
    published_ = engine_.get();
  }

  /// Requires: mutex_ is locked.
  void set_failure(std::optional<FailedLoad> failure) {
    if (!failure) return;
    status_.error = std::move(failure->error);
    status_.failed = std::move(failure->model);
  }

  void work() {
    pthread_setname_np(pthread_self(), "lathe-load");
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || unload_wanted_ || wanted_; });
      const bool unloads = std::exchange(unload_wanted_, false), closing = closing_;
      busy_ = true;
      const std::optional<EngineOptions> options = std::exchange(wanted_, std::nullopt);
      lock.unlock();
      if (closing) take_engine_away();
      else if (!options) unload_now();
      else if (unloads) take_engine_away(), load_now(*options, std::nullopt);
      else replace(*options);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
      if (closing) return;
    }
  }

  void unload_now() {
    const bool goes = finish_requests();
    if (goes) take_engine_away();
    const std::lock_guard lock(mutex_);
    if (status_.state != ModelState::loading || wanted_) return;
    if (goes) enter(ModelState::none, {});
    else keep_engine(std::nullopt);
  }

  void replace(const EngineOptions& options) {
    const std::optional<EngineOptions> before = engine_ != nullptr ? running_ : std::nullopt;
    if (before && checker_ && !pass_check(options)) return;
    if (!finish_requests()) {
      const std::lock_guard lock(mutex_);
      return keep_engine(FailedLoad{options.model, Error{ErrorCode::cancelled, "loading was cancelled", options.model}});
    }
    take_engine_away();
    load_now(options, before);
  }

  /// Checks a load while the engine serves. False: the engine stays, or somebody wants it unloaded.
  bool pass_check(const EngineOptions& options) {
    Result<void> allowed = call_checker(options);
    const std::lock_guard lock(mutex_);
    if (unload_wanted_ || closing_) return false;
    if (allowed && cancelled_) allowed = engine::fail(ErrorCode::cancelled, "loading was cancelled", options.model);
    if (allowed) begin_unloading(options.model);
    else keep_engine(FailedLoad{options.model, std::move(allowed.error())});
    return allowed.has_value();
  }

  /// Waits for the requests of the engine if they may finish. False: cancel_load() was called, and the engine stays.
  bool finish_requests() {
    std::unique_lock lock(mutex_);
    while (engine_ != nullptr && ending_ == Ending::finish && !closing_ && !cancelled_) {
      // The owner of a lease may be about to submit a request.
      const bool has_leases = !std::unique_lock(lease_mutex_, std::try_to_lock).owns_lock();
      const IdleLook look(*engine_);
      changed_.wait_for(lock, kFinishLook);
      status_.n_finishing = n_requests(*engine_);
      if (!has_leases && look.is_idle()) break;
    }
    const bool stays = engine_ != nullptr && ending_ == Ending::finish && cancelled_ && !closing_ && !unload_wanted_;
    status_.n_finishing = 0;
    return !stays;
  }

  /// Ends the requests before it waits for leases: a caller that waits for a request may hold one. Requires: published_ is
  /// null.
  void take_engine_away() {
    if (engine_ == nullptr) return;
    engine_->shut_down(kUnloadGrace);
    std::unique_ptr<Engine> gone;
    {
      const std::unique_lock no_leases(lease_mutex_);
      gone = std::move(engine_);
    }
  }

  /// `before`: the model to return to if the load fails; none: there was none.
  void load_now(const EngineOptions& options, const std::optional<EngineOptions>& before) {
    Result<std::unique_ptr<Engine>> loaded = call_loader(options);
    if (publish(loaded, options, std::nullopt)) return;
    FailedLoad failure{options.model, std::move(loaded.error())};
    if (before && begin_restoring(before->model, failure)) {
      Result<std::unique_ptr<Engine>> restored = call_loader(*before);
      if (publish(restored, *before, failure)) return;
      failure.error.message +=
          fmt::format("; {}, which ran before, could not be loaded again: {}", before->model, restored.error().message);
    }
    const std::lock_guard lock(mutex_);
    if (unload_wanted_) return enter(ModelState::none, {});
    enter(ModelState::failed, options.model);
    set_failure(std::move(failure));
  }

  /// False: there is no engine, or the load was cancelled after its last progress report: the later call takes effect.
  bool publish(Result<std::unique_ptr<Engine>>& loaded, const EngineOptions& options, std::optional<FailedLoad> failure) {
    std::unique_ptr<Engine> unwanted;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    if (loaded && cancelled_) {
      unwanted = std::move(*loaded);
      loaded = engine::fail(ErrorCode::cancelled, "loading was cancelled", options.model);
    }
    if (!loaded) return false;
    engine_ = std::move(*loaded);
    running_ = options;
    ++status_.n_engines;
    keep_engine(std::move(failure));
    return true;
  }

  bool begin_restoring(const std::string& model, const FailedLoad& failure) {
    const std::lock_guard lock(mutex_);
    if (closing_ || unload_wanted_) return false;
    cancelled_ = false;
    enter(ModelState::loading, model);
    set_failure(failure);
    return true;
  }

  Result<void> call_checker(const EngineOptions& options) {
    try {
      return checker_(options, engine_->model());
    } catch (const std::exception& problem) {
      return engine::fail(ErrorCode::internal, problem.what(), options.model);
    }
  }

  Result<std::unique_ptr<Engine>> call_loader(const EngineOptions& options) {
    const auto observer = [this](const engine::LoadProgress& progress) {
      const std::lock_guard lock(mutex_);
      status_.progress = progress;
      return !cancelled_;
    };
    try {
      return loader_(options, observer);
    } catch (const std::bad_alloc&) {
      return engine::fail(ErrorCode::resource_exhausted, "not enough memory to load the model", options.model);
    } catch (const std::exception& problem) {
      return engine::fail(ErrorCode::internal, problem.what(), options.model);
    }
  }

  const EngineLoader loader_;
  const EngineChecker checker_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ModelStatus status_;
  std::optional<EngineOptions> wanted_;
  Ending ending_ = Ending::cut;
  bool unload_wanted_ = false, cancelled_ = false, closing_ = false, busy_ = false;

  mutable std::shared_mutex lease_mutex_;  ///< shared by leases; exclusive while the engine is removed
  std::unique_ptr<Engine> engine_;         ///< Thread: only thread_ changes it
  std::optional<EngineOptions> running_;   ///< options of engine_, or of the last one. Thread: only thread_
  std::atomic<Engine*> published_{nullptr};
  std::jthread thread_;  ///< last member: its thread uses all others
};

}  // namespace

std::unique_ptr<ModelSlot> make_model_slot(EngineLoader loader, EngineChecker checker) {
  return std::make_unique<ThreadedModelSlot>(std::move(loader), std::move(checker));
}

}  // namespace lathe::app
