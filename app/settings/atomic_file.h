// SPDX-License-Identifier: Apache-2.0
// Writes a whole file, so that a reader sees either the old content or the new one, never a part.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::app {

/// Writes "<path>.new", fsyncs it, renames it to `path` and fsyncs the folder. Errors: internal, with the system's message.
engine::Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace lathe::app
