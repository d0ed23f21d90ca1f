// SPDX-License-Identifier: Apache-2.0
// Token ids in config.json and generation_config.json that begin and end a text (BOS, EOS).
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
  std::vector<std::string> warnings;  ///< one for each id that was left out
};

/// Reads one id or a list of at most kMaxEosIds; null and absent: none. A value outside of 0 to n_ids - 1 is left out with a
/// warning. Errors: model_refused for a longer list. `file` is named in warnings and errors.
Result<TokenIds> read_token_ids(const Json& json, std::string_view key, std::int64_t n_ids, std::string_view file);

/// Warnings for people about the ids that read_model_config() left out. `file` is named in them.
std::vector<std::string> warnings_of_token_ids(const Json& config, std::int64_t n_ids, std::string_view file);

}  // namespace lathe::engine
