// SPDX-License-Identifier: Apache-2.0
#include "engine/model/generation_config.h"

#include <fmt/format.h>

#include <array>

#include "engine/model/token_ids.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kFile = "generation_config.json", kMaxNewTokens = "max_new_tokens";

struct Recommendation {
  std::string_view key;     ///< in the file
  std::string_view option;  ///< in SamplingParams
};
constexpr std::array kRecommendations = {
    Recommendation{"temperature", "temperature"},
    Recommendation{"top_k", "top_k"},
    Recommendation{"top_p", "top_p"},
    Recommendation{"min_p", "min_p"},
    Recommendation{"repetition_penalty", "repetition_penalty"},
    Recommendation{kMaxNewTokens, "max_tokens"},
};

/// Takes one value, or warns why not.
void take(const Json& value, const Recommendation& recommendation, std::int64_t vocab_size, GenerationConfig& config) {
  if (value.is_null()) return;
  SamplingParams changed = config.sampling;
  Result<void> outcome = set_option(changed, recommendation.option, dump_json(value));
  if (outcome) outcome = validate(changed, vocab_size);
  if (outcome) {
    if (recommendation.key == kMaxNewTokens && changed.max_tokens > 0) config.max_new_tokens = changed.max_tokens;
    config.sampling = std::move(changed);
  } else {
    config.warnings.push_back(fmt::format("{}: {} is left out: {}", kFile, recommendation.key, outcome.error().message));
  }
}

}  // namespace

GenerationConfig read_generation_config(const Json& json, std::int64_t vocab_size) {
  GenerationConfig config;
  if (auto eos = read_token_ids(json, "eos_token_id", vocab_size, kFile)) {
    config.eos_ids = std::move(eos->ids);
    config.warnings = std::move(eos->warnings);
  } else {
    config.warnings.push_back(fmt::format("{} is left out: {}", eos.error().where, eos.error().message));
  }
  for (const Recommendation& recommendation : kRecommendations) {
    if (const auto found = json.find(recommendation.key); found != json.end()) {
      take(*found, recommendation, vocab_size, config);
    }
  }
  return config;
}

}  // namespace lathe::engine
