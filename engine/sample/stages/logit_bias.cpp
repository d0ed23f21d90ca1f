// SPDX-License-Identifier: Apache-2.0
// logit_bias: added to the logits of named tokens.
#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

bool logit_bias_applies(const SampleInput& input) { return !input.params->logit_bias.empty(); }

void apply_logit_bias(SampleState& state) {
  const std::span<float> logits = state.input.logits;
  for (const auto& [id, bias] : state.input.params->logit_bias) {
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) logits[id] += bias;
  }
}

}  // namespace

extern constexpr SampleStage kLogitBiasStage = {
    .name = "logit_bias", .phase = StagePhase::logits, .applies = logit_bias_applies, .apply = apply_logit_bias};

}  // namespace lathe::engine
