// SPDX-License-Identifier: Apache-2.0
// Makes a runner with weights from an opened model: plan the memory, check that it fits, allocate, read.
#pragma once

#include <memory>
#include <optional>

#include "engine/api/engine.h"
#include "engine/api/memory_use.h"
#include "engine/api/tokenizer.h"
#include "engine/model/decoder/smoothing.h"
#include "engine/packed/cached_weights.h"
#include "engine/run/model_runner.h"
#include "engine/serve/memory_plan.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

struct LoadedRunner {
  MemoryPlan plan;
  CachedWeights cache;  ///< use of the packed cache, and warnings about the weights
  std::unique_ptr<ModelRunner> runner;
  std::optional<DeviceDivision> division;  ///< none: the cache does not fill a device
};

/// Receives the phase and the bytes read so far; returning false cancels.
using RunnerObserver = std::function<bool(LoadPhase phase, std::int64_t bytes_done)>;

/// Bytes that a load reads. Smoothing reads the layers twice. Units: bytes.
std::int64_t bytes_to_read(const OpenedModel& model, const EngineOptions& options);

/// Loads a runner. `tokenizer`: encodes the calibration texts; null: a quantization that calibrates is refused. `observe` is
/// called after each tensor. `folder`: cache of quantized weights, if it has a path. Errors: resource_exhausted when the
/// plan does not fit, unless options.check_fit is off; invalid_argument; cancelled.
Result<LoadedRunner> load_runner(const OpenedModel& model, const Tokenizer* tokenizer, const EngineOptions& options,
                                 const RunnerObserver& observe, const PackedCacheFolder& folder = {});

/// Plans and checks as load_runner(), and allocates nothing. `returned_bytes`: memory that will be free in addition when the
/// runner is loaded. Errors: as load_runner() before it allocates.
Result<void> check_runner(const OpenedModel& model, const EngineOptions& options, std::int64_t returned_bytes);

/// Finds the smoothing factors of the layers; empty if the options do not ask for smoothing. Errors: as calibrate().
Result<Smoothing> find_smoothing(const OpenedModel& model, const Tokenizer* tokenizer, const EngineOptions& options,
                                 const std::function<bool(std::int64_t)>& observe);

}  // namespace lathe::engine
