// SPDX-License-Identifier: Apache-2.0
// Fills a decoder with quantized weights from the packed cache; if the cache has none, from the checkpoint, and stores them
// in the cache.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model/decoder/load_weights.h"
#include "engine/packed/packed_cache.h"

namespace lathe::engine {

struct CachedWeights {
  PackedCacheUse use = PackedCacheUse::none;
  std::vector<std::string> warnings;  ///< about the weights, and why an entry was unusable or could not be stored
};

/// Makes the weights from the checkpoint when the cache has no entry.
struct WeightMaker {
  std::string recipe;  ///< inputs of the weights other than checkpoint and options; part of the key
  /// Fills the decoder. Returns warnings about the weights; weights with warnings are not stored, since the next load could
  /// not repeat the warnings.
  std::function<Result<std::vector<std::string>>(const WeightObserver&)> make;
};

/// True for a quantized load of files with a cache folder and options.cache.
bool wants_packed_cache(const EngineOptions& options, const PackedCacheFolder& folder);

/// Loads weights as load_weights does (`maker` calls it). `observer` receives the bytes of the plan that are done; it may be
/// called with 0 while files are hashed. Peak memory: as load_weights. Errors: cancelled, model_refused; a failure of the
/// cache is only a warning.
Result<CachedWeights> load_cached_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                          const WeightPlan& plan, const EngineOptions& options,
                                          const PackedCacheFolder& folder, const WeightMaker& maker,
                                          const WeightObserver& observer);

}  // namespace lathe::engine
