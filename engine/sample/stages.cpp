// SPDX-License-Identifier: Apache-2.0
#include "engine/api/table.h"
#include "engine/sample/stage.h"

namespace lathe::engine {

// THE TABLE of sampling stages: one file in stages/ and one line here for each. Source: the order of vLLM's V1 sampler.
LATHE_TABLE(SampleStage, kStages,
  kStructuredOutputsStage,
  kSuppressTokensStage,
  kMinTokensStage,
  kLogitBiasStage,
  kRepetitionPenaltyStage,
  kOutputPenaltiesStage,
  kTemperatureStage,
  kMinPStage,
  kTopKStage,
  kTopPStage,
);

std::span<const SampleStage* const> sample_stages() { return kStages; }

}  // namespace lathe::engine
