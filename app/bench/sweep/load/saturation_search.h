// SPDX-License-Identifier: Apache-2.0
// Search for the highest rate that a load of saturation holds, by trials at growing rates and then by bisection.
#pragma once

#include <functional>
#include <string>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/result/run_record.h"

namespace lathe::app {

/// Runs one trial, whose load is not saturation; `words` describe it for people. Errors: those of a run.
using TrialRunner = std::function<engine::Result<RunRecord>(const SweepWorkload& trial, const std::string& words)>;

/// Returns a trial of few requests, one at a time: its latencies are the best of any rate.
SweepWorkload synchronous_trial(const SweepWorkload& workload);

/// Returns the run at the highest rate that holds, with max_rate and all trials. Poisson arrivals begin at the rate that one
/// request at a time reaches; the rate is doubled while it holds (or halved while it does not), then the geometric mean of
/// the highest rate that held and the lowest that did not is tried until these are within 10 %. A rate holds if
/// - no more than max_waiting requests wait for their first token,
/// - kGoodShare of the requests are within the goal,
/// - requests complete as fast as they arrive: over the middle 80 % of a trial at kCompletedShare of their rate or more,
/// - and arrivals last kRounds times as long as a request takes: before that each request may find a free slot and none
///   waits.
/// A run that is refused for lack of capacity (resource_exhausted, deadline_exceeded) does not hold. A trial has the
/// workload's requests or, if these are 0, as many as arrive in five seconds: at most 4000; at least 40, or at slow rates as
/// many as arrive in two minutes, but no fewer than 8. A trial that holds but was too short is repeated with more requests.
/// A trial sends for max_seconds at most; the number of trials is bounded too. Requires: a load of saturation. Errors: those
/// of the runner; unavailable if not even the slowest rate holds, with the reason; invalid_argument if max_seconds leaves
/// too few requests, or is too short for the duration of a request, to judge a rate.
engine::Result<RunRecord> search_saturation(const SweepWorkload& workload, const ServiceGoal& goal, const TrialRunner& run);

inline constexpr double kCompletedShare = 0.95;
inline constexpr double kRounds = 3;
inline constexpr double kRatePrecision = 0.1;

}  // namespace lathe::app
