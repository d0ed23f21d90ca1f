// SPDX-License-Identifier: Apache-2.0
// SweepTrial: a rate of requests that was tried in search of the highest one that holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

/// Metrics are those of the same name; NaN where nothing could be seen.
struct SweepTrial {
  double rate = 0;      ///< requests a second; 0: one request at a time
  std::string failure;  ///< why it did not hold; empty: it held
  std::int64_t requests = 0;
  double request_s = 0, goodput_req_s = 0, ttft_ms_p99 = 0, itl_ms_p99 = 0;
};

/// "trying 3.2 req/s": what is done, for people.
std::string text_of_trial(double rate);

/// [{"rate" (null: one request at a time), "held", "why" of one that did not, "requests", the metrics (null: unseen)}].
engine::OrderedJson to_json(std::span<const SweepTrial> trials);
/// Errors: invalid_argument when it is no list of such.
engine::Result<std::vector<SweepTrial>> sweep_trials_from(const engine::Json& json);

}  // namespace lathe::app
