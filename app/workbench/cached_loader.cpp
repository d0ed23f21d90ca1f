// SPDX-License-Identifier: Apache-2.0
#include "app/workbench/cached_loader.h"

#include <filesystem>

namespace lathe::app {

engine::PackedCacheFolder packed_folder(const Paths& paths) {
  return {.path = (std::filesystem::path(paths.cache) / "packed").string()};
}

EngineLoader cached_loader(const Paths& paths) {
  return [folder = packed_folder(paths)](const engine::EngineOptions& options, const engine::LoadObserver& observer) {
    return engine::load_engine_cached(options, observer, folder);
  };
}

}  // namespace lathe::app
