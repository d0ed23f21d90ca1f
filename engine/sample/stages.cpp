// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

// THE TABLE of sampling stages. Source: the order of vLLM's V1 sampler.
constexpr std::array<const SampleStage*, 8> kStages = {
    &kMinTokensStage, &kLogitBiasStage, &kRepetitionPenaltyStage, &kOutputPenaltiesStage, &kTemperatureStage, &kMinPStage,
    &kTopKStage,      &kTopPStage,
};

}  // namespace

std::span<const SampleStage* const> sample_stages() { return kStages; }

}  // namespace lathe::engine
