// SPDX-License-Identifier: Apache-2.0
// What an entry of the packed cache is found by: the content of the weights, and the recipe that packs them.
#pragma once

#include <functional>
#include <string>

#include "engine/load/checkpoint.h"
#include "engine/model/weight_plan.h"
#include "engine/model/weight_storage.h"
#include "engine/packed/content_hash.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// The hash of every tensor that a load reads, with its role, type and shape. All bytes are read each time: a path, a size
/// and a date are no content, and a wrong entry would be a wrong model. At the speed of memory that takes 0.2 s a gigabyte
/// for one core, a fifth of what quantizing takes; names of files and how they are cut into shards do not matter.
/// `go_on` is asked after each tensor. Errors: cancelled; model_refused when a file was truncated meanwhile.
Result<ContentHash> content_of(const Checkpoint& checkpoint, const WeightPlan& plan, kernels::Backend& backend,
                               const std::function<bool()>& go_on);

/// Everything else that decides what is packed: the layout of the kernels, the formats, and each option of loading that is
/// not known to leave the weights alone, always or beside the others (why_idle). A new option belongs to it by itself. The
/// instruction set does not: all share one layout, and round to the same bits.
std::string recipe_of(const EngineOptions& options, const WeightStorage& storage, const ModelConfig& config);

ContentHash packed_key(const ContentHash& content, const std::string& recipe);

}  // namespace lathe::engine
