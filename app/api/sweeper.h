// SPDX-License-Identifier: Apache-2.0
// Sweeper: runs one sweep at a time in the background, and lists the journals of earlier sweeps.
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

/// Progress of a running sweep.
struct SweepProgress {
  std::size_t cells_done = 0, cells_total = 0;
  std::size_t cell = 0;     ///< index of the cell that is measured now
  std::int64_t repeat = 0;  ///< repeat of this cell; 0: the warm-up
  std::string doing;        ///< "evaluating", "loading", "connecting", "warming up", "measuring", or text_of_trial()
  double seconds = 0;       ///< seconds since the sweep began
  double seconds_left = 0;  ///< estimate from the cells measured so far; 0: not known yet
  double tok_s = 0;         ///< tokens per second of the current run so far, or of the previous run; 0: not known
  std::shared_ptr<const engine::EngineSnapshot> engine{};  ///< state of the measured engine; null: none, or a server
};

enum class SweepState : std::uint8_t {
  none,  ///< nothing to show
  running,
  pausing,  ///< pauses after the current run
  paused,
  stopped,  ///< stopped by the user, or opened from an unfinished journal; resume() continues it
  done,
  failed  ///< the journal cannot be written
};

struct SweepStatus {
  SweepState state = SweepState::none;
  std::shared_ptr<const SweepPlan> plan;      ///< null: none
  std::shared_ptr<const SweepReport> report;  ///< null: none
  SweepProgress progress;
  std::string journal;  ///< path of the journal
  std::string error;
  std::uint64_t revision = 0;  ///< increases with every change except those of the seconds
  bool runs() const { return state == SweepState::running || state == SweepState::pausing || state == SweepState::paused; }
};

/// A journal of an earlier sweep.
struct KeptSweep {
  std::string path, name;
  std::int64_t unix_ms = 0;  ///< time of the last sample
  std::size_t cells_done = 0, cells_total = 0;
};

/// Thread: any. A sweep loads its own engines, in addition to the model of the ModelSlot.
class Sweeper {
 public:
  virtual ~Sweeper() = default;  ///< stops the sweep, and waits for the running computation
  virtual SweepStatus status() const = 0;
  /// Starts a sweep at the first cell, with a new journal. Errors: conflict while a sweep runs; invalid_argument for an
  /// invalid plan.
  virtual engine::Result<void> start(SweepPlan plan) = 0;
  /// Shows the contents of a journal, without measuring. Errors: conflict while a sweep runs; invalid_argument, not_found.
  virtual engine::Result<void> open(const std::string& journal) = 0;
  /// Continues the shown sweep where it stopped. `api_key`: key of the target, if it is not known yet, since journals
  /// contain no keys. Errors: conflict; those of the journal.
  virtual engine::Result<void> resume(const std::string& api_key = {}) = 0;
  virtual void pause() = 0;  ///< pauses after the current run
  virtual void go_on() = 0;
  virtual void skip_cell() = 0;  ///< records the cell as skipped; resume() measures it
  virtual void stop() = 0;       ///< stops the sweep and keeps its results; returns at once
  /// Removes the shown sweep from status(); its journal stays. No effect while a sweep runs.
  virtual void clear() = 0;
  /// Journals of earlier sweeps, the newest first; at most 50.
  virtual std::vector<KeptSweep> kept() const = 0;
};

/// Environment of a sweep, which is not part of its plan.
struct SweepPlaces {
  engine::PackedCacheFolder packed{};  ///< quantized weights of models whose quality is measured
  std::string root{};                  ///< root directory of /proc and /sys, which describe the machine; for tests
  /// Tokens that the program's own model has computed so far for chats and server, which disturb the measurement.
  std::function<std::uint64_t()> own_tokens{};
};

/// `folder` contains the journals and is created with the first one.
std::unique_ptr<Sweeper> make_sweeper(EngineLoader loader, std::string folder, SweepPlaces places = {});

}  // namespace lathe::app
