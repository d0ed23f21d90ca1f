// SPDX-License-Identifier: Apache-2.0
// Reads whole small files into memory: regular files only, up to a size limit.
#pragma once

#include <cstddef>
#include <string>

#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"

namespace lathe::engine {

/// Reads a file. Errors: not_found; model_refused when it is no regular file, cannot be read, or is larger than `max_bytes`.
/// Pipes and devices are refused without reading from them.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

/// As above, for an open file; `name` is for messages. A file that shrinks during the read is an error, not a signal.
Result<std::string> read_text_file(const FileDescriptor& file, const std::string& name, std::size_t max_bytes);

}  // namespace lathe::engine
