// SPDX-License-Identifier: Apache-2.0
// A run on a server that is measured from outside.
#pragma once

#include "app/bench/sweep/load_generator.h"
#include "app/bench/sweep/target_session.h"

namespace lathe::app {

/// Tokens are those of the server's own usage; times are those at which their pieces came. What only the server sees stays
/// unseen. Errors: a request's refusal with its status and words, a stream that breaks off or cannot be read; cancelled.
engine::Result<RunRecord> run_load(TargetSession& session, const SweepWorkload& workload,
                                   const std::vector<PlannedRequest>& requests, const engine::SamplingParams& sampling,
                                   std::uint64_t seed, const std::function<bool()>& go_on);

}  // namespace lathe::app
