// SPDX-License-Identifier: Apache-2.0
// temperature: divides the logits. As in vLLM, a temperature between 0 and 0.01 counts as 0.01.
#include <algorithm>

#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

constexpr double kLowestTemperature = 0.01;  // below this temperature f32 logits overflow

bool temperature_applies(const SampleInput& input) { return input.params->temperature != 1.0; }

void apply_temperature(SampleState& state) {
  const auto scale = static_cast<float>(1.0 / std::max(state.input.params->temperature, kLowestTemperature));
  for (float& logit : state.input.logits) logit *= scale;
  state.best *= scale;
}

}  // namespace

extern constexpr SampleStage kTemperatureStage = {
    .name = "temperature", .phase = StagePhase::candidates, .applies = temperature_applies, .apply = apply_temperature};

}  // namespace lathe::engine
