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
  /// Of kTraceBlock tokens each, the last maybe of fewer; the same number is the same tokens. Empty: the trace has none.
  std::vector<std::int64_t> blocks{};
};

/// JSONL (.jsonl) with numbers "arrival", "prompt_tokens" and "output_tokens", or Mooncake's "timestamp" (milliseconds),
/// "input_length", "output_length" and "hash_ids"; else CSV of the former in that order, or in that of a first line that
/// names them, or with Azure's head "TIMESTAMP,ContextTokens,GeneratedTokens", whose times are dates. In the order of
/// arrival. Errors: not_found; invalid_argument with file and line.
/// Source: the open trace of Mooncake (Qin et al. 2024), whose blocks have 512 tokens; the Azure LLM inference trace 2023.
engine::Result<std::vector<TracedRequest>> read_trace(const std::string& path);

}  // namespace lathe::app
