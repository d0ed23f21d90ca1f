// SPDX-License-Identifier: Apache-2.0
// Latency distributions of a run in the JSON form of sweep journals.
#pragma once

#include <vector>

#include "app/api/latency_distribution.h"
#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::app {

/// Example: {"ttft_ms": {"n": 8, "values": [...]}, ...}. Requires: one distribution for each of latencies(). Latencies of
/// which none was seen are left out.
engine::OrderedJson journal_json(const std::vector<LatencyDistribution>& distributions);
/// Skips latencies with an unknown name. Errors: invalid_argument naming the latency.
engine::Result<std::vector<LatencyDistribution>> distributions_from(const engine::Json& json);

}  // namespace lathe::app
