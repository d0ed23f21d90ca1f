// SPDX-License-Identifier: Apache-2.0
// Sizes the KV cache of a device: steps are measured first, and the cache takes what they and the weights leave of
// gpu_memory_utilization.
#pragma once

#include <cstdint>

#include "engine/api/memory_use.h"
#include "engine/api/options.h"
#include "engine/api/result.h"
#include "engine/model/weight_storage.h"
#include "engine/run/model_runner.h"
#include "engine/serve/memory_plan.h"

namespace lathe::engine {

/// Limits with a cache that is just large enough for the steps that are measured. Requires: plan.fills_device.
RunnerLimits measuring_limits(const MemoryPlan& plan, const EngineOptions& options);

/// Computes the largest steps (a prompt of all rows, and a token of each of max_num_seqs requests), measures what they took
/// of the device, and gives the runner its cache. Puts the blocks into plan.limits and plan.estimate. `free_before`: free
/// memory before the load. Memory that other programs take or return meanwhile is counted as the steps'.
/// Requires: a runner with measuring_limits() and the weights in memory.
/// Errors: resource_exhausted if not one context is left, with the division; those of the steps.
Result<DeviceDivision> size_device_cache(ModelRunner& runner, const StoredWeights& stored, const EngineOptions& options,
                                         std::int64_t free_before, MemoryPlan& plan);

}  // namespace lathe::engine
