// SPDX-License-Identifier: Apache-2.0
// The distributions of a run as a journal keeps them.
#pragma once

#include <vector>

#include "app/api/latency_distribution.h"
#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::app {

/// {"ttft_ms": {"n": 8, "values": [...]}, ...}, without latencies of which none was seen. One for each of latencies().
engine::OrderedJson journal_json(const std::vector<LatencyDistribution>& distributions);
/// Names that nobody knows are passed over. Errors: invalid_argument naming the latency.
engine::Result<std::vector<LatencyDistribution>> distributions_from(const engine::Json& json);

}  // namespace lathe::app
