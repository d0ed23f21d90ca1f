// SPDX-License-Identifier: Apache-2.0
// The loader of engines that keeps quantized weights in the user's cache.
#pragma once

#include "app/api/model_slot.h"
#include "app/api/paths.h"
#include "engine/api/packed_cache.h"

namespace lathe::app {

/// "packed" below paths.cache.
engine::PackedCacheFolder packed_folder(const Paths& paths);
/// Entries lie there.
EngineLoader cached_loader(const Paths& paths);

}  // namespace lathe::app
