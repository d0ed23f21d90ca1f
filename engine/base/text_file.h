// SPDX-License-Identifier: Apache-2.0
// Whole small files read into memory: regular files only, never more than a bound.
#pragma once

#include <cstddef>
#include <string>

#include "engine/api/result.h"
#include "engine/base/file_descriptor.h"

namespace lathe::engine {

/// Errors: not_found; model_refused when it is no regular file, cannot be read, or is larger than `max_bytes`.
/// Pipes and devices are refused without being opened for data.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

/// The same of a file that is open; `name` goes into messages. A file that shrinks meanwhile is an error, not a signal.
Result<std::string> read_text_file(const FileDescriptor& file, const std::string& name, std::size_t max_bytes);

}  // namespace lathe::engine
