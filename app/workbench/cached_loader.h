// SPDX-License-Identifier: Apache-2.0
// The loader of engines that keeps quantized weights in the user's cache.
#pragma once

#include "app/api/model_slot.h"
#include "app/api/paths.h"

namespace lathe::app {

/// Entries lie in "packed" below paths.cache.
EngineLoader cached_loader(const Paths& paths);

}  // namespace lathe::app
