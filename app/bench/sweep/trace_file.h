// SPDX-License-Identifier: Apache-2.0
// Traces of arrivals, as servers keep them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// Units: seconds from the first arrival.
struct TracedRequest {
  double arrival = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
};

/// JSONL (.jsonl) with numbers "arrival", "prompt_tokens" and "output_tokens"; else CSV of them in that order, or in that of
/// a first line that names them. In the order of arrival. Errors: not_found; invalid_argument with file and line.
engine::Result<std::vector<TracedRequest>> read_trace(const std::string& path);

}  // namespace lathe::app
