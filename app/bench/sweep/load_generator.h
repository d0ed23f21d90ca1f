// SPDX-License-Identifier: Apache-2.0
// LoadGenerator: sends the requests of a workload when they are due and keeps when what came back.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/run_record.h"
#include "engine/api/engine.h"

namespace lathe::app {

using RunClock = std::chrono::steady_clock;

/// Where the requests of a run go. Thread: that of the run.
class LoadSink {
 public:
  virtual ~LoadSink() = default;  ///< ends what is on its way
  /// `record` is filled until the request has ended. A turn that is not the first comes after the one before has ended, and
  /// goes on with what was said. Errors: it is not taken.
  virtual engine::Result<void> send(std::size_t index, const PlannedRequest& request, SentRequest& record) = 0;
  /// Waits for something to come back, and takes all that has. Gives those that have ended. Errors: of a request.
  virtual engine::Result<std::vector<std::size_t>> take_news(std::chrono::duration<double> at_most) = 0;
};

/// Runs all requests to their end, counted from `start`; those that max_seconds and max_waiting leave unsent are not in the
/// record. A turn is due when the answer before has ended and its think time
/// has passed; a conversation counts as one of those at a time from its first to its last token. `go_on` is asked at least
/// ten times a second; false stops. Errors: those of the sink; invalid_argument where none was sent; cancelled.
engine::Result<RunRecord> run_load(LoadSink& sink, const SweepWorkload& workload,
                                   const std::vector<PlannedRequest>& requests, RunClock::time_point start,
                                   const std::function<bool()>& go_on);

/// The same on an engine. Prompts are drawn from `seed` and never found in the prefix cache, but for their shared part and
/// for what was said before. Errors: those of Engine::submit and of a request; cancelled.
engine::Result<RunRecord> run_load(engine::Engine& engine, const SweepWorkload& workload,
                                   const std::vector<PlannedRequest>& requests, const engine::SamplingParams& sampling,
                                   std::uint64_t seed, const std::function<bool()>& go_on);

}  // namespace lathe::app
