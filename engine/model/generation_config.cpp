// SPDX-License-Identifier: Apache-2.0
#include "engine/model/generation_config.h"

#include <fmt/format.h>

#include "engine/model/token_ids.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kGenerationConfigFile = "generation_config.json", kMaxNewTokens = "max_new_tokens";

/// Takes a list of token ids, or warns why not.
std::vector<std::int32_t> take_ids(const Json& json, std::string_view key, std::int64_t vocab_size,
                                   std::vector<std::string>& warnings) {
  auto ids = read_token_ids(json, key, vocab_size, kGenerationConfigFile);
  if (!ids) {
    warnings.push_back(fmt::format("{} is left out: {}", ids.error().where, ids.error().message));
    return {};
  }
  warnings.insert(warnings.end(), ids->warnings.begin(), ids->warnings.end());
  return std::move(ids->ids);
}

/// Takes one value, or warns why not.
void take(const Json& value, const SamplingField& field, std::int64_t vocab_size, GenerationConfig& config) {
  if (value.is_null()) return;
  SamplingParams changed = config.sampling;
  Result<void> outcome = set_option(changed, field.option.name, dump_json(value), {&field, 1});
  if (outcome) outcome = validate(changed, vocab_size);
  if (outcome) {
    if (field.generation_key == kMaxNewTokens && changed.max_tokens > 0) config.max_new_tokens = changed.max_tokens;
    config.sampling = std::move(changed);
  } else {
    config.warnings.push_back(
        fmt::format("{}: {} is left out: {}", kGenerationConfigFile, field.generation_key, outcome.error().message));
  }
}

}  // namespace

GenerationConfig read_generation_config(const Json& json, std::int64_t vocab_size, SamplingTable table) {
  GenerationConfig config;
  config.eos_ids = take_ids(json, "eos_token_id", vocab_size, config.warnings);
  config.suppressed_ids = take_ids(json, "suppress_tokens", vocab_size, config.warnings);
  for (const SamplingField& field : table) {
    if (field.generation_key.empty()) continue;
    if (const auto found = json.find(field.generation_key); found != json.end()) take(*found, field, vocab_size, config);
  }
  return config;
}

}  // namespace lathe::engine
