// SPDX-License-Identifier: Apache-2.0
// ModelSlot: owner of the loaded engine, which all other code leases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>

#include "engine/api/engine.h"

namespace lathe::app {

/// A lock that prevents the engine from being unloaded. It should be held for a call, not for a stream: request handles
/// outlive the engine.
class EngineLease {
 public:
  EngineLease() = default;
  EngineLease(std::shared_lock<std::shared_mutex> lock, engine::Engine* engine) : lock_(std::move(lock)), engine_(engine) {}
  engine::Engine* operator->() const { return engine_; }
  engine::Engine& operator*() const { return *engine_; }
  explicit operator bool() const { return engine_ != nullptr; }

 private:
  std::shared_lock<std::shared_mutex> lock_;
  engine::Engine* engine_ = nullptr;
};

enum class ModelState : std::uint8_t { none, loading, ready, failed };

struct ModelStatus {
  ModelState state = ModelState::none;
  std::string path;               ///< path of the model that is loaded or being loaded
  std::string next;               ///< model that is being checked while the model of `path` still serves; empty: none
  int n_finishing = 0;            ///< requests that end before the model is unloaded; the state is `loading` meanwhile
  engine::LoadProgress progress;  ///< progress while loading
  /// Error of the last load, if that failed or was cancelled. While `ready`, the model of `path` is the one that ran before;
  /// while `loading`, that model is being loaded again.
  std::optional<engine::Error> error;
  std::string failed;            ///< path of the model whose load ended with `error`
  std::uint64_t generation = 0;  ///< increases with every change of state
  std::uint64_t n_engines = 0;   ///< engines loaded so far: the number of the loaded one
};

/// Function that loads an engine; tests use a scripted one.
using EngineLoader = std::function<engine::Result<std::unique_ptr<engine::Engine>>(const engine::EngineOptions&,
                                                                                   const engine::LoadObserver&)>;

/// Function that says whether a load would be refused, before `running` is unloaded for it: engine::check_load().
using EngineChecker = std::function<engine::Result<void>(const engine::EngineOptions&, const engine::LoadedModel& running)>;

/// End of running requests when their model is unloaded: they are cancelled within half a second, or they finish
/// while new ones are refused.
enum class Ending : std::uint8_t { cut, finish };

/// Thread: any. Loading runs on its own thread; a loaded model stays until a load that was not refused replaces it.
class ModelSlot {
 public:
  virtual ~ModelSlot() = default;
  virtual EngineLease lease() const = 0;  ///< empty: no engine is loaded
  virtual ModelStatus status() const = 0;
  /// Checks the load while the current model serves, unloads that model, then loads; returns at once. A refused load leaves
  /// the current model untouched; one that fails or is cancelled later loads the current model again. Errors: conflict while
  /// another load runs.
  virtual engine::Result<void> load(const engine::EngineOptions& options, Ending ending = Ending::cut) = 0;
  /// Ends a load, also while it is checked or waits for requests.
  virtual void cancel_load() = 0;
  /// With Ending::finish the state is `loading` until the last request has ended; cancel_load() keeps the model.
  virtual void unload(Ending ending = Ending::cut) = 0;
  /// Waits until no load is running. Errors: ModelStatus::error.
  virtual engine::Result<void> wait() = 0;
};

/// `checker` empty: nothing is checked before the current model is unloaded.
std::unique_ptr<ModelSlot> make_model_slot(EngineLoader loader, EngineChecker checker = {});

}  // namespace lathe::app
