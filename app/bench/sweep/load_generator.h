// SPDX-License-Identifier: Apache-2.0
// LoadGenerator: sends the requests of a workload to an engine and keeps when what came back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "app/api/sweep_plan.h"
#include "engine/api/engine.h"

namespace lathe::app {

/// One request. Units: seconds from the begin of the run.
struct SentRequest {
  double scheduled = 0;  ///< when it was to be sent: what is late counts as waiting
  std::int64_t prompt_tokens = 0, output_tokens = 0;  ///< asked for
  std::uint64_t answer = 0;                           ///< a checksum of its tokens
  std::vector<double> token_times;
  double end = 0;
  engine::Usage usage;
  engine::RequestTimings timings;
};

struct RunRecord {
  std::vector<SentRequest> requests;
  double seconds = 0;  ///< from the first scheduled time to the last end
  double kv_usage_peak = 0;  ///< share of all blocks
  std::int64_t n_preemptions = 0;
  double padding = 0;      ///< share of the computed rows that were nobody's
  double kv_reserved = 0;  ///< share of the held KV room that held nothing
  double kv_unfilled = 0;  ///< and of it, behind the last token of blocks in use
};

/// Runs all requests of `workload` to their end. Prompts are drawn from `seed` and never found in the prefix cache, but for
/// their shared part. `go_on` is asked at least ten times a second; false stops.
/// Errors: those of Engine::submit and of a request; cancelled.
engine::Result<RunRecord> run_load(engine::Engine& engine, const SweepWorkload& workload,
                                   const engine::SamplingParams& sampling, std::uint64_t seed,
                                   const std::function<bool()>& go_on);

}  // namespace lathe::app
