// SPDX-License-Identifier: Apache-2.0
// Fills a decoder with quantized weights: from the packed cache, or from the checkpoint, and then keeps them there.
#pragma once

#include <string>
#include <vector>

#include "engine/model/decoder/load_weights.h"
#include "engine/packed/packed_cache.h"

namespace lathe::engine {

struct CachedWeights {
  PackedCacheUse use = PackedCacheUse::none;
  std::vector<std::string> warnings;  ///< why an entry was of no use, or could not be kept
};

/// True where there is something to keep: a quantized load, a folder, and options.cache.
bool wants_packed_cache(const EngineOptions& options, const PackedCacheFolder& folder);

/// As load_weights: `observer` gets the bytes of the plan that are done, and may be called with none while files are hashed.
/// Peak memory: as load_weights. Errors: cancelled, model_refused; never for want of a cache.
Result<CachedWeights> load_cached_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                          const WeightPlan& plan, const EngineOptions& options,
                                          const PackedCacheFolder& folder, const WeightObserver& observer);

}  // namespace lathe::engine
