// SPDX-License-Identifier: Apache-2.0
// A whole file, written so that a reader sees the old content or the new one and never a part.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::app {

/// Writes "<path>.new", fsyncs it, renames it over `path` and fsyncs the folder. Errors: internal with the system's words.
engine::Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace lathe::app
