// SPDX-License-Identifier: Apache-2.0
// Computes the key of an entry of the packed cache from the content of the weights and the recipe that packs them.
#pragma once

#include <functional>
#include <string>

#include "engine/load/checkpoint.h"
#include "engine/model/weight_plan.h"
#include "engine/model/weight_storage.h"
#include "engine/packed/content_hash.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Hashes every tensor that a load reads, with its role, type and shape. All bytes are read each time: path, size and date
/// do not identify content, and a wrong entry would be a wrong model. At memory speed that takes 0.2 s per gigabyte on one
/// core, a fifth of the time for quantizing. File names and the split into shards do not matter.
/// `go_on` is called after each tensor; false cancels. Errors: cancelled; model_refused when a file was truncated meanwhile.
Result<ContentHash> content_of(const Checkpoint& checkpoint, const WeightPlan& plan, kernels::Backend& backend,
                               const std::function<bool()>& go_on);

/// All other inputs of packing: the layout of the kernels, the formats, and each load option that is not known to leave the
/// weights unchanged, always or given the other options (why_idle). A new option is included by default. The instruction set
/// is not included: all share one layout, and round to the same bits.
std::string recipe_of(const EngineOptions& options, const WeightStorage& storage, const ModelConfig& config);

ContentHash packed_key(const ContentHash& content, const std::string& recipe);

}  // namespace lathe::engine
