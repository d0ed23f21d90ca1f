// SPDX-License-Identifier: Apache-2.0
// Sweep bound: a lower bound of a sweep's duration, for sweeps without similar measurements.
#pragma once

#include <functional>
#include <optional>

#include "app/api/sweep_plan.h"
#include "engine/api/checkpoint.h"
#include "engine/api/machine.h"

namespace lathe::app {

/// Bytes of the weights under these options.
using WeightBytes = std::function<engine::Result<std::int64_t>(const engine::EngineOptions& options)>;
/// Bytes of the weights as the engine would allocate them.
WeightBytes weight_bytes_of(const engine::ModelInfo& info);

/// Lower bound of the plan's duration in seconds: at the measured ceilings each step reads the weights, except what a cache
/// may keep, and each token costs two operations per parameter. Loads, attention, sampling and quality measurements come on
/// top. The work is assumed as small as it may be: lengths are the shortest of a uniform draw, conversations of a dataset
/// have one turn, and all Poisson arrivals may come at the beginning. Calls `weights` once for each format of the plan.
/// nullopt: there is no bound, for a server, a trace, a search for the highest rate, a run that ends at max_waiting, lengths
/// that are cut or have no minimum, or a model whose tokens use only a part of the weights (experts).
std::optional<double> least_seconds(const SweepPlan& plan, const engine::ModelInfo& info, const kernels::Ceilings& ceilings,
                                    const WeightBytes& weights);

}  // namespace lathe::app
