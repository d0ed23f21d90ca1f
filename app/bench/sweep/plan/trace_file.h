// SPDX-License-Identifier: Apache-2.0
// Reads traces of request arrivals, as servers record them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// A request of a trace. Units: seconds since the first arrival.
struct TracedRequest {
  double arrival = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  /// Ids of the prompt's blocks of kTraceBlock tokens, the last one maybe shorter; equal ids mean equal tokens. Empty: the
  /// trace has none.
  std::vector<std::int64_t> blocks{};
};

/// Reads JSONL (.jsonl) with numbers "arrival", "prompt_tokens" and "output_tokens", or Mooncake's "timestamp"
/// (milliseconds), "input_length", "output_length" and "hash_ids"; else CSV with the first three in that order, or in the
/// order of a header line that names them, or with Azure's header "TIMESTAMP,ContextTokens,GeneratedTokens", whose times are
/// dates. Returns the requests in the order of arrival. Errors: not_found; invalid_argument with file and line.
/// Source: the open trace of Mooncake (Qin et al. 2024), whose blocks have 512 tokens; the Azure LLM inference trace 2023.
engine::Result<std::vector<TracedRequest>> read_trace(const std::string& path);

}  // namespace lathe::app
