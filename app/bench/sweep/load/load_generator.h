// SPDX-License-Identifier: Apache-2.0
// Load generator: sends the requests of a workload when they are due and records the times of their tokens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/result/run_record.h"
#include "engine/api/engine.h"

namespace lathe::app {

using RunClock = std::chrono::steady_clock;

/// Multiplier of the checksum SentRequest::answer, which is FNV-1a over the ids or the bytes of the answer.
inline constexpr std::uint64_t kFnvPrime = 0x100000001b3;

/// Destination of the requests of a run: an engine or a server. Thread: that of the run.
class LoadSink {
 public:
  virtual ~LoadSink() = default;  ///< cancels the requests that have not ended
  /// Sends one request; `record` is written until the request has ended. A later turn of a conversation is sent after the
  /// previous turn has ended, and its prompt begins with the conversation so far. Errors: the request is refused.
  virtual engine::Result<void> send(std::size_t index, const PlannedRequest& request, SentRequest& record) = 0;
  /// Waits for tokens, at most `at_most`, and records all that have come. Returns the indices of the requests that have
  /// ended. Errors: those of a request.
  virtual engine::Result<std::vector<std::size_t>> take_news(std::chrono::duration<double> at_most) = 0;
};

/// Sends all requests and waits for their ends; times count from `start`. Requests that max_seconds and max_waiting leave
/// unsent are not in the record. A turn is due when its think time has passed since the end of the previous answer; a
/// conversation counts towards the concurrency from its first to its last token. `go_on` is called at least ten times a
/// second and returns false to stop. Errors: those of the sink; invalid_argument if no request was sent; cancelled.
engine::Result<RunRecord> run_load(LoadSink& sink, const SweepWorkload& workload,
                                   const std::vector<PlannedRequest>& requests, RunClock::time_point start,
                                   const std::function<bool()>& go_on);

/// Runs the requests on an engine. Prompts are drawn from `seed`; the prefix cache holds nothing of them but their shared
/// part and the conversation so far. Errors: those of Engine::submit and of a request; cancelled.
engine::Result<RunRecord> run_load(engine::Engine& engine, const SweepWorkload& workload,
                                   const std::vector<PlannedRequest>& requests, const engine::SamplingParams& sampling,
                                   std::uint64_t seed, const std::function<bool()>& go_on);

}  // namespace lathe::app
