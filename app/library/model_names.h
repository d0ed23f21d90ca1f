// SPDX-License-Identifier: Apache-2.0
// Which model of the library a name means.
#pragma once

#include <span>
#include <string>

#include "app/api/library.h"

namespace lathe::app {

/// In this order: the name itself; the name in another case; with ":latest", which ollama leaves out too; the end of a name
/// that begins behind one of "/-_:." ("3.2-1B" of "meta-llama/Llama-3.2-1B"). The first of these that any entry fits
/// decides. Errors: invalid_argument when several fit; not_found, with the nearest name and the folders that were searched.
engine::Result<std::string> find_by_name(std::span<const LibraryEntry> entries, std::span<const WatchedFolder> searched,
                                         const std::string& name);

}  // namespace lathe::app
