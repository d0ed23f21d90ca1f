// SPDX-License-Identifier: Apache-2.0
// SweepSubject: the measured system of a sweep: engines that it loads, or a server.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/api/model_slot.h"
#include "app/api/sweep_plan.h"
#include "app/bench/sweep/result/run_record.h"
#include "engine/api/packed_cache.h"

namespace lathe::app {

/// Reports the current activity; false: the cell is to be abandoned. `may_wait`: nothing is running, so the observer may
/// pause here.
using SubjectObserver = std::function<bool(std::string_view doing, bool may_wait)>;

/// Thread: that of the sweep.
class SweepSubject {
 public:
  virtual ~SweepSubject() = default;
  /// Loads or connects to the system that this cell needs; cells of the same `key` share it. Errors: those of the load or of
  /// the connection.
  virtual engine::Result<void> prepare(const SweepCell& cell, const std::string& key, const SubjectObserver& tell) = 0;
  /// Requires: prepare() of the same cell. Errors: those of a request; cancelled.
  virtual engine::Result<RunRecord> run(const SweepCell& cell, std::uint64_t seed, const std::function<bool()>& go_on) = 0;
  /// Snapshot of the loaded engine; null: there is none in this process.
  virtual std::shared_ptr<const engine::EngineSnapshot> snapshot() const { return nullptr; }
};

/// Both require `plan` and `loader` to outlive the subject. `packed`: cache folder for the quantized weights of models whose
/// quality is measured.
std::unique_ptr<SweepSubject> make_engine_subject(const SweepPlan& plan, const EngineLoader& loader,
                                                  const engine::PackedCacheFolder& packed);
std::unique_ptr<SweepSubject> make_target_subject(const SweepPlan& plan);

}  // namespace lathe::app
