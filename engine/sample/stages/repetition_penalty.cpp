// SPDX-License-Identifier: Apache-2.0
// repetition_penalty: tokens of prompt and answer get logit / penalty if the logit is positive, else logit * penalty, once
// each. Source: Keskar et al., "CTRL" (2019), section 4.1, with the sign rule of vLLM.
#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

bool repetition_penalty_applies(const SampleInput& input) { return input.params->repetition_penalty != 1.0; }

void apply_repetition_penalty(SampleState& state) {
  const std::span<float> logits = state.input.logits;
  const auto penalty = static_cast<float>(state.input.params->repetition_penalty);
  auto& seen = state.scratch.counts;  // all zero between uses
  seen.resize(logits.size(), 0);
  for (const auto ids : {state.input.prompt_token_ids, state.input.output_token_ids}) {
    for (const std::int32_t id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= logits.size() || seen[id] != 0) continue;
      seen[id] = 1;
      logits[id] = logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty;
    }
  }
  for (const auto ids : {state.input.prompt_token_ids, state.input.output_token_ids}) {
    for (const std::int32_t id : ids) {
      if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) seen[id] = 0;
    }
  }
}

}  // namespace

extern constexpr SampleStage kRepetitionPenaltyStage = {.name = "repetition_penalty",
                                                        .phase = StagePhase::logits,
                                                        .applies = repetition_penalty_applies,
                                                        .apply = apply_repetition_penalty};

}  // namespace lathe::engine
