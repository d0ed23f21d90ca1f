// SPDX-License-Identifier: Apache-2.0
// Fills a decoder with quantized weights: from the packed cache, or from the checkpoint, and then keeps them there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model/decoder/load_weights.h"
#include "engine/packed/packed_cache.h"

namespace lathe::engine {

struct CachedWeights {
  PackedCacheUse use = PackedCacheUse::none;
  std::vector<std::string> warnings;  ///< of the weights; why an entry was of no use, or could not be kept
};

/// How weights come from the checkpoint where the cache has none.
struct WeightMaker {
  std::string recipe;  ///< what they depend on beside the checkpoint and the options
  /// Fills the decoder. Returns warnings of the weights; with one they are not kept, or the next load would be silent.
  std::function<Result<std::vector<std::string>>(const WeightObserver&)> make;
};

/// True where there is something to keep: a quantized load, a folder, and options.cache.
bool wants_packed_cache(const EngineOptions& options, const PackedCacheFolder& folder);

/// As load_weights, which `maker` calls: `observer` gets the bytes of the plan that are done, and may be called with none
/// while files are hashed. Peak memory: as load_weights. Errors: cancelled, model_refused; never for want of a cache.
Result<CachedWeights> load_cached_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                          const WeightPlan& plan, const EngineOptions& options,
                                          const PackedCacheFolder& folder, const WeightMaker& maker,
                                          const WeightObserver& observer);

}  // namespace lathe::engine
