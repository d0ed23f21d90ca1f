// SPDX-License-Identifier: Apache-2.0
// GenerationConfig: the recommendations of generation_config.json: end-of-sequence ids and sampling parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/sampling_field.h"

namespace lathe::engine {

struct GenerationConfig {
  std::vector<std::int32_t> eos_ids;
  std::vector<std::int32_t> suppressed_ids;    ///< suppress_tokens: never generated
  SamplingParams sampling;                     ///< the defaults, overridden by the file's values
  std::optional<std::int64_t> max_new_tokens;  ///< as in sampling.max_tokens; none: the file has no value
  std::vector<std::string> warnings;           ///< values that were left out, or why the whole file was
};

/// `json`: the file, or an empty object. Reads the keys that vLLM reads: eos_token_id, suppress_tokens and the
/// generation_key of each sampling parameter. A wrong value is left out with a warning, because the file only recommends.
GenerationConfig read_generation_config(const Json& json, std::int64_t vocab_size, SamplingTable table = sampling_fields());

}  // namespace lathe::engine
