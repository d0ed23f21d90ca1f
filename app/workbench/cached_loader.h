// SPDX-License-Identifier: Apache-2.0
// Makes the engine loader that keeps quantized weights in the user's cache.
#pragma once

#include "app/api/model_slot.h"
#include "app/api/paths.h"
#include "engine/api/packed_cache.h"

namespace lathe::app {

/// Returns the folder "packed" below paths.cache.
engine::PackedCacheFolder packed_folder(const Paths& paths);
/// Returns a loader that keeps its entries in packed_folder(paths).
EngineLoader cached_loader(const Paths& paths);

}  // namespace lathe::app
