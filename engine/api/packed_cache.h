// SPDX-License-Identifier: Apache-2.0
// The cache of packed weights: what a quantized load made of a checkpoint, on disk, so that the next load only reads it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/api/engine.h"

namespace lathe::engine {

/// A folder that belongs to the cache alone. Processes may share it.
struct PackedCacheFolder {
  std::string path;  ///< made when it is needed; empty: nothing is kept
  /// Of all entries; nor do they take more than a quarter of what the disk could give.
  std::int64_t max_bytes = 20'000'000'000;
};

/// load_engine, but a load that quantizes looks into the folder first and keeps there what it made, unless options.cache is
/// off. Whatever is wrong with the folder or an entry costs time and gives a warning, never the load.
Result<std::unique_ptr<Engine>> load_engine_cached(const EngineOptions& options, const LoadObserver& observer,
                                                   const PackedCacheFolder& folder);

}  // namespace lathe::engine
