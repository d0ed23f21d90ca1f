// SPDX-License-Identifier: Apache-2.0
// The least time that a sweep can take, where nothing like it has been measured yet.
#pragma once

#include <functional>
#include <optional>

#include "app/api/sweep_plan.h"
#include "engine/api/checkpoint.h"
#include "engine/api/machine.h"

namespace lathe::app {

/// Bytes of the weights under these options.
using WeightBytes = std::function<engine::Result<std::int64_t>(const engine::EngineOptions& options)>;
/// As the engine would allocate them.
WeightBytes weight_bytes_of(const engine::ModelInfo& info);

/// Seconds below which no engine of this machine stays: each step reads the weights but for what a cache may keep of them,
/// and each token costs two operations a parameter, at the measured ceilings. Loads, attention, sampling and measuring
/// quality come on top. What a run may lack does not count: lengths are the shortest that the spread of an even draw allows,
/// conversations of a dataset have one turn, and Poisson arrivals may come at once. Asks for `weights` once for each format
/// of the plan. Empty: nothing is known, of a server, of a trace, of a search for a rate, of a run that ends once too many
/// wait, of lengths that are cut or have a distribution without a least, or of a model of which a token takes a part alone
/// (experts).
std::optional<double> least_seconds(const SweepPlan& plan, const engine::ModelInfo& info, const kernels::Ceilings& ceilings,
                                    const WeightBytes& weights);

}  // namespace lathe::app
