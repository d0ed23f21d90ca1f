// SPDX-License-Identifier: Apache-2.0
// suppress_tokens: masks the tokens that the checkpoint's generation_config.json never generates. Source: Hugging Face
// transformers, SuppressTokensLogitsProcessor.
#include <limits>

#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

bool has_suppressed_tokens(const SampleInput& input) { return !input.suppressed_ids.empty(); }

void mask_suppressed_tokens(SampleState& state) {
  const std::span<float> logits = state.input.logits;
  for (const std::int32_t id : state.input.suppressed_ids) {
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) {
      logits[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace

extern constexpr SampleStage kSuppressTokensStage = {.name = "suppress_tokens",
                                                     .phase = StagePhase::logits,
                                                     .applies = has_suppressed_tokens,
                                                     .apply = mask_suppressed_tokens};

}  // namespace lathe::engine
