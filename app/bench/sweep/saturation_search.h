// SPDX-License-Identifier: Apache-2.0
// The search of a load of saturation: trials at rates that grow and are then halved in between.
#pragma once

#include <functional>
#include <string>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/run_record.h"

namespace lathe::app {

/// A run of a trial's work, whose load is not saturation; `words` say what is done. Errors: those of a run.
using TrialRunner = std::function<engine::Result<RunRecord>(const SweepWorkload& trial, const std::string& words)>;

/// Few requests, one at a time: what no rate is better than.
SweepWorkload synchronous_trial(const SweepWorkload& workload);

/// The run at the highest rate that holds, with max_rate and all trials. Poisson arrivals begin at the rate that one request
/// at a time has; it is doubled while it holds (or halved while it does not), then the middle between the highest that held
/// and the lowest that did not is tried until they are within 10 %. A rate holds when
/// - no more than max_waiting requests wait for their first token,
/// - kGoodShare of the requests are within the goal,
/// - they are completed as fast as they come: over the middle 80 % of a trial at kCompletedShare of their rate or more,
/// - and they came for kRounds times as long as one takes: before that each may have a place, and none waits.
/// A run that is refused for want of room (resource_exhausted, deadline_exceeded) does not hold. A trial has the work's
/// requests, or where these are 0 as many as come in five seconds: at most 4000, at least 40, or of slow ones as many as
/// come in two minutes, or 8; one that would hold and was too short is repeated with more. It sends for max_seconds at most;
/// the number of trials is bounded too. Requires: a load of saturation. Errors: those of the runner; unavailable where not
/// even the slowest rate holds, with why; invalid_argument where max_seconds leaves too few requests, or is too short beside
/// what they take, to judge a rate by.
engine::Result<RunRecord> search_saturation(const SweepWorkload& workload, const ServiceGoal& goal, const TrialRunner& run);

inline constexpr double kCompletedShare = 0.95;
inline constexpr double kRounds = 3;
inline constexpr double kRatePrecision = 0.1;

}  // namespace lathe::app
