// SPDX-License-Identifier: Apache-2.0
#include "engine/model/generation_config.h"

#include <fmt/format.h>

#include "engine/model/token_ids.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kGenerationConfigFile = "generation_config.json", kMaxNewTokens = "max_new_tokens";

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
  if (auto eos = read_token_ids(json, "eos_token_id", vocab_size, kGenerationConfigFile)) {
    config.eos_ids = std::move(eos->ids);
    config.warnings = std::move(eos->warnings);
  } else {
    config.warnings.push_back(fmt::format("{} is left out: {}", eos.error().where, eos.error().message));
  }
  for (const SamplingField& field : table) {
    if (field.generation_key.empty()) continue;
    if (const auto found = json.find(field.generation_key); found != json.end()) take(*found, field, vocab_size, config);
  }
  return config;
}

}  // namespace lathe::engine
