// SPDX-License-Identifier: Apache-2.0
// From an opened model to a runner with its weights: plan the memory, check that it fits, allocate, read.
#pragma once

#include <memory>

#include "engine/api/engine.h"
#include "engine/packed/cached_weights.h"
#include "engine/run/model_runner.h"
#include "engine/serve/memory_plan.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

struct LoadedRunner {
  MemoryPlan plan;
  CachedWeights cache;  ///< what it did
  std::unique_ptr<ModelRunner> runner;
};

/// `observe` gets the bytes read after each tensor; false cancels. Errors: resource_exhausted when it does not fit, unless
/// options.check_fit is off; invalid_argument; cancelled. `folder`: where quantized weights are kept, if it has a path.
Result<LoadedRunner> load_runner(const OpenedModel& model, const EngineOptions& options,
                                 const std::function<bool(std::int64_t)>& observe, const PackedCacheFolder& folder = {});

}  // namespace lathe::engine
