// SPDX-License-Identifier: Apache-2.0
// Runs a workload on a server that is measured from outside.
#pragma once

#include "app/bench/sweep/load/load_generator.h"
#include "app/bench/sweep/load/target_session.h"

namespace lathe::app {

/// Token counts come from the server's usage, token times from the arrival of their pieces. Metrics that only the server
/// knows stay kUnseen. Errors: a refused request, with its status and message; a stream that breaks off or cannot be read;
/// cancelled.
engine::Result<RunRecord> run_load(TargetSession& session, const SweepWorkload& workload,
                                   const std::vector<PlannedRequest>& requests, const engine::SamplingParams& sampling,
                                   std::uint64_t seed, const std::function<bool()>& go_on);

}  // namespace lathe::app
