// SPDX-License-Identifier: Apache-2.0
// min_tokens: masks the tokens that would end the answer until it has that many tokens.
#include <limits>

#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

/// Not where a constraint leaves nothing but the end.
bool min_tokens_applies(const SampleInput& input) {
  if (input.allowed != nullptr && input.allowed->must_end) return false;
  return static_cast<std::int64_t>(input.output_token_ids.size()) < input.params->min_tokens;
}

void mask(std::span<const std::int32_t> ids, std::span<float> logits) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) logits[id] = -std::numeric_limits<float>::infinity();
  }
}

void apply_min_tokens(SampleState& state) {
  mask(state.input.eos_ids, state.input.logits);
  mask(state.input.params->stop_token_ids, state.input.logits);
}

}  // namespace

extern constexpr SampleStage kMinTokensStage = {
    .name = "min_tokens", .phase = StagePhase::logits, .applies = min_tokens_applies, .apply = apply_min_tokens};

}  // namespace lathe::engine
