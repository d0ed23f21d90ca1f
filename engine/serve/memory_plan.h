// SPDX-License-Identifier: Apache-2.0
// MemoryPlan: formats, context and KV pool of a load, and the bytes that they take. The loader allocates by this plan, and
// the fit estimate shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/checkpoint.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_storage.h"
#include "engine/run/runner.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

struct MemoryPlan {
  WeightStorage weights = kernels::Dtype::f32;
  kernels::Dtype kv_dtype = kernels::Dtype::f32;
  RunnerLimits limits;
  FitEstimate estimate;
  std::int64_t block_bytes = 0;     ///< one KV block in all layers
  /// That a pool would hold in what the rest leaves, where the plan does not fit. The rest is that of the context asked for:
  /// a shorter one needs less, so that some more may fit.
  std::int64_t fitting_tokens = 0;
  std::vector<std::string> warnings;
};

/// `free`: bytes that may be taken; nothing: not known, and then the verdict is not known either.
/// Errors: invalid_argument when options contradict each other or the model, with the numbers.
Result<MemoryPlan> plan_memory(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                               const EngineOptions& options, std::optional<std::int64_t> free);

/// Errors: resource_exhausted when the plan does not fit: the parts, what is free, and what would fit.
Result<void> check_fit(const MemoryPlan& plan);

}  // namespace lathe::engine
