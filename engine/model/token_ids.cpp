// SPDX-License-Identifier: Apache-2.0
#include "engine/model/token_ids.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/api/python_json.h"
#include "engine/model/architectures.h"
#include "engine/model/text_config.h"

namespace lathe::engine {
namespace {

bool is_token_id(const Json& value, std::int64_t n_ids) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() < static_cast<std::uint64_t>(n_ids);
  return value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() < n_ids;
}

}  // namespace

Result<TokenIds> read_token_ids(const Json& json, std::string_view key, std::int64_t n_ids, std::string_view file) {
  TokenIds read;
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return read;
  if (found->is_array() && found->size() > kMaxEosIds) {
    return fail(ErrorCode::model_refused, fmt::format("got a list of {}, expected at most {}", found->size(), kMaxEosIds),
                fmt::format("{}: {}", file, key));
  }
  const auto take = [&](const Json& value) {
    if (is_token_id(value, n_ids)) {
      read.ids.push_back(value.get<std::int32_t>());
    } else {
      read.warnings.push_back(fmt::format("{}: {}: {} is left out: the vocabulary has the ids 0 to {}", file, key,
                                          excerpt_of_json(value), n_ids - 1));
    }
  };
  if (found->is_array()) std::for_each(found->begin(), found->end(), take);
  else take(*found);
  return read;
}

std::vector<std::string> warnings_of_token_ids(const Json& config, std::int64_t n_ids, std::string_view file) {
  std::vector<std::string> warnings;
  const Json text = text_part(config);
  for (const std::string_view key : {"bos_token_id", "eos_token_id"}) {
    const auto read = read_token_ids(text, key, n_ids, file);
    if (read) warnings.insert(warnings.end(), read->warnings.begin(), read->warnings.end());
  }
  return warnings;
}

}  // namespace lathe::engine
