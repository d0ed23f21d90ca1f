// SPDX-License-Identifier: Apache-2.0
// presence_penalty and frequency_penalty: logit -= presence + frequency * count, over generated tokens.
#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

bool output_penalties_applies(const SampleInput& input) {
  return input.params->presence_penalty != 0.0 || input.params->frequency_penalty != 0.0;
}

void apply_output_penalties(SampleState& state) {
  const std::span<float> logits = state.input.logits;
  const auto presence = static_cast<float>(state.input.params->presence_penalty);
  const auto frequency = static_cast<float>(state.input.params->frequency_penalty);
  auto& counts = state.scratch.counts;  // all zero between uses
  counts.resize(logits.size(), 0);
  const auto in_vocabulary = [&](std::int32_t id) { return id >= 0 && static_cast<std::size_t>(id) < logits.size(); };
  for (const std::int32_t id : state.input.output_token_ids) {
    if (in_vocabulary(id)) ++counts[id];
  }
  for (const std::int32_t id : state.input.output_token_ids) {
    if (!in_vocabulary(id) || counts[id] == 0) continue;
    logits[id] -= presence + frequency * static_cast<float>(counts[id]);
    counts[id] = 0;
  }
}

}  // namespace

extern constexpr SampleStage kOutputPenaltiesStage = {.name = "presence_penalty, frequency_penalty",
                                                      .phase = StagePhase::logits,
                                                      .applies = output_penalties_applies,
                                                      .apply = apply_output_penalties};

}  // namespace lathe::engine
