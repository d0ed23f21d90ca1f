// SPDX-License-Identifier: Apache-2.0
// Ids of single tokens in config.json and generation_config.json: where texts begin and end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

struct TokenIds {
  std::vector<std::int32_t> ids;
  std::vector<std::string> warnings;  ///< what was left out
};

/// One id or a list of at most kMaxEosIds; null and absent: none. What is none of the ids 0 to n_ids - 1 is left out with a
/// warning. Errors: model_refused for a longer list. `file` goes into both.
Result<TokenIds> read_token_ids(const Json& json, std::string_view key, std::int64_t n_ids, std::string_view file);

/// The ids of a whole configuration that read_model_config() left out, for people. `file` has it.
std::vector<std::string> warnings_of_token_ids(const Json& config, std::int64_t n_ids, std::string_view file);

}  // namespace lathe::engine
