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
  std::string path;                    ///< path of the model that is loaded or being loaded
  engine::LoadProgress progress;       ///< progress while loading
  std::optional<engine::Error> error;  ///< error of a failed or cancelled load
  std::uint64_t generation = 0;        ///< increases with every change of state
};

/// Function that loads an engine; tests use a scripted one.
using EngineLoader = std::function<engine::Result<std::unique_ptr<engine::Engine>>(const engine::EngineOptions&,
                                                                                   const engine::LoadObserver&)>;

/// Thread: any. Loading runs on its own thread; a loaded model stays until load() is called again.
class ModelSlot {
 public:
  virtual ~ModelSlot() = default;
  virtual EngineLease lease() const = 0;  ///< empty: no engine is loaded
  virtual ModelStatus status() const = 0;
  /// Unloads the current model, then loads; returns at once. Errors: conflict while another load runs.
  virtual engine::Result<void> load(const engine::EngineOptions& options) = 0;
  virtual void cancel_load() = 0;
  virtual void unload() = 0;
  /// Waits until no load is running.
  virtual engine::Result<void> wait() = 0;
};

std::unique_ptr<ModelSlot> make_model_slot(EngineLoader loader);

}  // namespace lathe::app
