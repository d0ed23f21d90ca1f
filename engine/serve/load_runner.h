// SPDX-License-Identifier: Apache-2.0
// From an opened model to a runner with its weights: plan the memory, check that it fits, allocate, read.
#pragma once

#include <memory>

#include "engine/api/engine.h"
#include "engine/api/tokenizer.h"
#include "engine/model/decoder/smoothing.h"
#include "engine/packed/cached_weights.h"
#include "engine/run/model_runner.h"
#include "engine/serve/memory_plan.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

struct LoadedRunner {
  MemoryPlan plan;
  CachedWeights cache;  ///< what it did, and warnings of the weights with it or without
  std::unique_ptr<ModelRunner> runner;
};

/// What is done, and the bytes of the load that have been read; false cancels.
using RunnerObserver = std::function<bool(LoadPhase phase, std::int64_t bytes_done)>;

/// Units: bytes that a load reads. What smooths reads its layers twice.
std::int64_t bytes_to_read(const OpenedModel& model, const EngineOptions& options);

/// `tokenizer`: of the model, for texts to calibrate with; null: what calibrates is refused. `observe` is asked after each
/// tensor. `folder`: where quantized weights are kept, if it has a path. Errors: resource_exhausted when it does not fit,
/// unless options.check_fit is off; invalid_argument; cancelled.
Result<LoadedRunner> load_runner(const OpenedModel& model, const Tokenizer* tokenizer, const EngineOptions& options,
                                 const RunnerObserver& observe, const PackedCacheFolder& folder = {});

/// How to smooth the layers; nothing where options do not ask for it. Errors: those of calibrate().
Result<Smoothing> find_smoothing(const OpenedModel& model, const Tokenizer* tokenizer, const EngineOptions& options,
                                 const std::function<bool(std::int64_t)>& observe);

}  // namespace lathe::engine
