// SPDX-License-Identifier: Apache-2.0
// Packed weight cache: the packed matrices of a quantized load, stored on disk, so that the next load only reads them.
#pragma once

#include <cstdint>
#include <string>

#include "engine/api/engine.h"

namespace lathe::engine {

/// The cache's folder, which contains nothing else. Several processes may share it.
struct PackedCacheFolder {
  std::string path;  ///< created when needed; empty: nothing is stored
  /// Limit for all entries together, which also never exceed a quarter of the disk's free space with the entries counted as
  /// free.
  std::int64_t max_bytes = 20'000'000'000;
};

/// load_engine, but a load that quantizes first searches the folder and stores its packed weights there, unless
/// options.cache is off. An error in the folder or in an entry costs time and gives a warning, but the load does not fail.
Result<std::unique_ptr<Engine>> load_engine_cached(const EngineOptions& options, const LoadObserver& observer,
                                                   const PackedCacheFolder& folder);

}  // namespace lathe::engine
