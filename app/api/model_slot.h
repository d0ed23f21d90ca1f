// SPDX-License-Identifier: Apache-2.0
// ModelSlot: the one place that holds the loaded engine; everybody else leases it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>

#include "engine/api/engine.h"

namespace lathe::app {

/// Keeps the engine from being unloaded while it lives. Hold it for a call, not for a stream: handles outlive the engine.
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
  std::string path;                    ///< being loaded or loaded
  engine::LoadProgress progress;       ///< while loading
  std::optional<engine::Error> error;  ///< after a failed or cancelled load
  std::uint64_t generation = 0;        ///< rises with every change of state
};

/// How engines come to be; tests bring a scripted one.
using EngineLoader = std::function<engine::Result<std::unique_ptr<engine::Engine>>(const engine::EngineOptions&,
                                                                                   const engine::LoadObserver&)>;

/// Thread: any. Loading runs on a thread of its own; a model that was loaded stays until the new one is asked for.
class ModelSlot {
 public:
  virtual ~ModelSlot() = default;
  virtual EngineLease lease() const = 0;  ///< empty when none is loaded
  virtual ModelStatus status() const = 0;
  /// Unloads what is there, then loads; returns at once. Errors: conflict while another load runs.
  virtual engine::Result<void> load(const engine::EngineOptions& options) = 0;
  virtual void cancel_load() = 0;
  virtual void unload() = 0;
  /// Waits until nothing is loading any more.
  virtual engine::Result<void> wait() = 0;
};

std::unique_ptr<ModelSlot> make_model_slot(EngineLoader loader);

}  // namespace lathe::app
