// SPDX-License-Identifier: Apache-2.0
#include "app/workbench/cached_loader.h"

#include <filesystem>

#include "engine/api/packed_cache.h"

namespace lathe::app {

EngineLoader cached_loader(const Paths& paths) {
  const engine::PackedCacheFolder folder{.path = (std::filesystem::path(paths.cache) / "packed").string()};
  return [folder](const engine::EngineOptions& options, const engine::LoadObserver& observer) {
    return engine::load_engine_cached(options, observer, folder);
  };
}

}  // namespace lathe::app
