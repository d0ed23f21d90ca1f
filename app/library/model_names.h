// SPDX-License-Identifier: Apache-2.0
// Finds the model of the library that a name refers to.
#pragma once

#include <span>
#include <string>

#include "app/api/library.h"

namespace lathe::app {

/// Compares names in this order: the exact name; the name in another case; the name with ":latest", which ollama omits too;
/// the end of a name after one of "/-_:." ("3.2-1B" of "meta-llama/Llama-3.2-1B"). The first comparison that any entry
/// passes decides. Errors: invalid_argument if several entries pass; not_found, with the nearest name and the folders
/// searched.
engine::Result<std::string> find_by_name(std::span<const LibraryEntry> entries, std::span<const WatchedFolder> searched,
                                         const std::string& name);

}  // namespace lathe::app
