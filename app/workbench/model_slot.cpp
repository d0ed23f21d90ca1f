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

namespace lathe::app {
namespace {

using engine::Engine;
using engine::EngineOptions;
using engine::Error;
using engine::ErrorCode;
using engine::Result;

/// Time for running streams to end by themselves. Closing the window must take less than 3 s in total.
constexpr std::chrono::milliseconds kUnloadGrace{500};

class ThreadedModelSlot final : public ModelSlot {
 public:
  explicit ThreadedModelSlot(EngineLoader loader) : loader_(std::move(loader)), thread_([this] { work(); }) {}

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

  Result<void> load(const EngineOptions& options) override {
    {
      const std::lock_guard lock(mutex_);
      if (status_.state == ModelState::loading) {
        return engine::fail(ErrorCode::conflict, fmt::format("{} is being loaded; cancel that first", status_.path),
                            "model");
      }
      wanted_ = options;
      unload_wanted_ = true;
      cancelled_ = false;
      published_ = nullptr;
      enter(ModelState::loading, options.model);
    }
    changed_.notify_all();
    return {};
  }

  void cancel_load() override {
    const std::lock_guard lock(mutex_);
    if (status_.state == ModelState::loading) cancelled_ = true;
  }

  void unload() override {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
      unload_wanted_ = true;
      published_ = nullptr;
      // A running load ends by itself as cancelled; its thread then sets the state.
      if (status_.state == ModelState::ready || status_.state == ModelState::failed) enter(ModelState::none, {});
    }
    changed_.notify_all();
  }

  Result<void> wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return status_.state != ModelState::loading && !busy_ && !unload_wanted_; });
    if (status_.state == ModelState::failed) return tl::unexpected<Error>(*status_.error);
    return {};
  }

 private:
  /// Requires: mutex_ is locked.
  void enter(ModelState state, const std::string& path) {
    status_.state = state;
    status_.path = path;
    status_.progress = {};
    status_.error.reset();
    ++status_.generation;
  }

  void work() {
    pthread_setname_np(pthread_self(), "lathe-load");
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || unload_wanted_ || wanted_; });
      unload_wanted_ = false;
      busy_ = true;
      const std::optional<EngineOptions> options = std::exchange(wanted_, std::nullopt);
      const bool closing = closing_;
      lock.unlock();
      take_engine_away();
      if (options && !closing) load_now(*options);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
      if (closing) return;
    }
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

  void load_now(const EngineOptions& options) {
    Result<std::unique_ptr<Engine>> loaded = call_loader(options);
    std::unique_ptr<Engine> unwanted;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    if (loaded && cancelled_) {
      // Cancelled after the last progress report: the later call takes effect.
      unwanted = std::move(*loaded);
      loaded = engine::fail(ErrorCode::cancelled, "loading was cancelled", options.model);
    }
    if (loaded) {
      engine_ = std::move(*loaded);
      enter(ModelState::ready, options.model);
      published_ = engine_.get();
    } else if (unload_wanted_) {
      enter(ModelState::none, {});
    } else {
      enter(ModelState::failed, options.model);
      status_.error = std::move(loaded.error());
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
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ModelStatus status_;
  std::optional<EngineOptions> wanted_;
  bool unload_wanted_ = false, cancelled_ = false, closing_ = false, busy_ = false;

  mutable std::shared_mutex lease_mutex_;  ///< shared by leases; exclusive while the engine is removed
  std::unique_ptr<Engine> engine_;         ///< Thread: only thread_ changes it
  std::atomic<Engine*> published_{nullptr};
  std::jthread thread_;  ///< last member: its thread uses all others
};

}  // namespace

std::unique_ptr<ModelSlot> make_model_slot(EngineLoader loader) {
  return std::make_unique<ThreadedModelSlot>(std::move(loader));
}

}  // namespace lathe::app
