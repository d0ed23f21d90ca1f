// SPDX-License-Identifier: Apache-2.0
// SweepTrial: a request rate that was tried in the search for the highest rate that keeps the goal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

/// One trial. Metrics are those of the same name in sweep_metrics(); NaN: not observed.
struct SweepTrial {
  double rate = 0;      ///< requests per second; 0: one request at a time
  std::string failure;  ///< why the rate did not keep the goal; empty: it did
  std::int64_t requests = 0;
  double request_s = 0, goodput_req_s = 0, ttft_ms_p99 = 0, itl_ms_p99 = 0;
};

/// Text of a running trial for people: "trying 3.2 req/s".
std::string text_of_trial(double rate);

/// [{"rate" (null: one request at a time), "held", "why" if it did not, "requests", the metrics (null: not observed)}].
engine::OrderedJson to_json(std::span<const SweepTrial> trials);
/// Reads to_json()'s form. Errors: invalid_argument when `json` is not a list of trials.
engine::Result<std::vector<SweepTrial>> sweep_trials_from(const engine::Json& json);

}  // namespace lathe::app
