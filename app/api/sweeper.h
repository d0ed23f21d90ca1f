// SPDX-License-Identifier: Apache-2.0
// Sweeper: the one sweep that the workbench runs, in the background, and those that were kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/api/model_slot.h"
#include "app/api/sweep_report.h"
#include "engine/api/packed_cache.h"
#include "engine/api/snapshot.h"

namespace lathe::app {

/// Where a sweep stands.
struct SweepProgress {
  std::size_t cells_done = 0, cells_total = 0;
  std::size_t cell = 0;     ///< that is measured now
  std::int64_t repeat = 0;  ///< of it; 0: the warm-up
  std::string doing;        ///< "evaluating", "loading", "connecting", "warming up", "measuring", or text_of_trial()
  double seconds = 0;       ///< since the sweep began
  double seconds_left = 0;  ///< by the cells of this run; 0: not known yet
  double tok_s = 0;         ///< of the answers of the present run so far, or of the run before; 0: not known
  std::shared_ptr<const engine::EngineSnapshot> engine{};  ///< that is measured, while one is; null for a server
};

enum class SweepState : std::uint8_t {
  none,  ///< nothing to show
  running,
  pausing,  ///< the present run goes to its end first
  paused,
  stopped,  ///< by the user, or it was found half done: resume() goes on
  done,
  failed  ///< the journal cannot be written
};

struct SweepStatus {
  SweepState state = SweepState::none;
  std::shared_ptr<const SweepPlan> plan;      ///< null: none
  std::shared_ptr<const SweepReport> report;  ///< null: none
  SweepProgress progress;
  std::string journal;  ///< path
  std::string error;
  std::uint64_t revision = 0;  ///< rises with every change of anything but the seconds
  bool runs() const { return state == SweepState::running || state == SweepState::pausing || state == SweepState::paused; }
};

/// A journal of an earlier sweep.
struct KeptSweep {
  std::string path, name;
  std::int64_t unix_ms = 0;  ///< of the last sample
  std::size_t cells_done = 0, cells_total = 0;
};

/// Thread: any. A sweep loads engines of its own, beside the model of the ModelSlot.
class Sweeper {
 public:
  virtual ~Sweeper() = default;  ///< stops, and waits for the computation that runs
  virtual SweepStatus status() const = 0;
  /// Starts at the first cell, with a new journal. Errors: conflict while one runs; invalid_argument of the plan.
  virtual engine::Result<void> start(SweepPlan plan) = 0;
  /// Shows what a journal holds, without measuring. Errors: conflict while one runs; invalid_argument, not_found.
  virtual engine::Result<void> open(const std::string& journal) = 0;
  /// Goes on where the shown sweep stopped. `api_key`: of a target, where it is not known yet: journals have none.
  /// Errors: conflict; those of the journal.
  virtual engine::Result<void> resume(const std::string& api_key = {}) = 0;
  virtual void pause() = 0;  ///< after the present run
  virtual void go_on() = 0;
  virtual void skip_cell() = 0;  ///< recorded as skipped; resume() measures it
  virtual void stop() = 0;       ///< what is measured is kept; returns at once
  /// Forgets what is shown; its journal stays. Nothing while one runs.
  virtual void clear() = 0;
  /// The newest first; at most 50.
  virtual std::vector<KeptSweep> kept() const = 0;
};

/// Where a sweep finds what is not in its plan.
struct SweepPlaces {
  engine::PackedCacheFolder packed{};  ///< quantized weights of models whose quality is measured
  std::string root{};                  ///< of /proc and /sys, which tell of the machine; tests bring their own
  /// Tokens that the program's own model has computed so far, for its chats and its server: they disturb what is measured.
  std::function<std::uint64_t()> own_tokens{};
};

/// `folder` holds the journals and is made when the first one is.
std::unique_ptr<Sweeper> make_sweeper(EngineLoader loader, std::string folder, SweepPlaces places = {});

}  // namespace lathe::app
