// SPDX-License-Identifier: Apache-2.0
// The embedded pages; the build generates their definition from resources/manual/*.md (packaging/cmake/EmbedManual.cmake).
#pragma once

#include <span>

#include "app/api/manual.h"

namespace lathe::app {

extern const std::span<const ManualPage> kEmbeddedPages;

}  // namespace lathe::app
