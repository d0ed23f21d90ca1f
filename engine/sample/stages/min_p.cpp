// SPDX-License-Identifier: Apache-2.0
// min_p: drops tokens whose probability is below min_p times that of the best token.
#include <cmath>

#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

bool min_p_applies(const SampleInput& input) { return input.params->min_p > 0.0; }

void apply_min_p(SampleState& state) {
  const auto bar = static_cast<float>(state.best + std::log(state.input.params->min_p));
  const std::span<const float> logits = state.candidate_logits();
  state.narrow([&](std::size_t i) { return logits[i] >= bar; });
}

}  // namespace

extern constexpr SampleStage kMinPStage = {
    .name = "min_p", .phase = StagePhase::candidates, .applies = min_p_applies, .apply = apply_min_p};

}  // namespace lathe::engine
