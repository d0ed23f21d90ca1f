// SPDX-License-Identifier: Apache-2.0
// structured_outputs: masks the tokens that the answer's constraint does not allow.
#include <algorithm>
#include <limits>

#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr std::size_t kBits = 64;

bool structured_outputs_apply(const SampleInput& input) { return !input.params->structured_outputs.empty(); }

void mask_word(std::uint64_t allowed, std::span<float> logits) {
  if (allowed == 0) return std::fill(logits.begin(), logits.end(), kMasked);
  if (allowed == ~std::uint64_t{0}) return;
  for (std::size_t bit = 0; bit < logits.size(); ++bit) logits[bit] = (allowed >> bit & 1) != 0 ? logits[bit] : kMasked;
}

void apply_structured_outputs(SampleState& state) {
  const AllowedTokens* allowed = state.input.allowed;
  if (allowed == nullptr) return;  // this part of the answer is free
  const std::span<float> logits = state.input.logits;
  auto& kept = state.scratch.selection;
  kept.clear();
  for (const std::int32_t id : allowed->and_also) kept.push_back(logits[static_cast<std::size_t>(id)]);
  if (allowed->words.empty()) std::fill(logits.begin(), logits.end(), kMasked);
  else
    for (std::size_t i = 0; i * kBits < logits.size(); ++i)
      mask_word(allowed->words[i], logits.subspan(i * kBits, std::min(kBits, logits.size() - i * kBits)));
  for (std::size_t i = 0; i < kept.size(); ++i) logits[static_cast<std::size_t>(allowed->and_also[i])] = kept[i];
}

}  // namespace

extern constexpr SampleStage kStructuredOutputsStage = {.name = "structured_outputs",
                                                        .phase = StagePhase::logits,
                                                        .applies = structured_outputs_apply,
                                                        .apply = apply_structured_outputs};

}  // namespace lathe::engine
