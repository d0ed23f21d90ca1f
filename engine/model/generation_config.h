// SPDX-License-Identifier: Apache-2.0
// GenerationConfig: what generation_config.json recommends: where answers end, and how tokens are chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/sampling_params.h"

namespace lathe::engine {

struct GenerationConfig {
  std::vector<std::int32_t> eos_ids;
  SamplingParams sampling;                     ///< the defaults, with what the file says put over them
  std::optional<std::int64_t> max_new_tokens;  ///< as in sampling.max_tokens; none: the file does not say
  std::vector<std::string> warnings;           ///< values that were left out, or why all of the file was
};

/// `json`: the file, or an empty object. Reads the keys that vLLM reads: eos_token_id, temperature, top_k, top_p, min_p,
/// repetition_penalty, max_new_tokens. A wrong value is left out with a warning: the file recommends only.
GenerationConfig read_generation_config(const Json& json, std::int64_t vocab_size);

}  // namespace lathe::engine
