// SPDX-License-Identifier: Apache-2.0
// Whole small files read into memory: regular files only, never more than a bound.
#pragma once

#include <cstddef>
#include <string>

#include "engine/api/result.h"

namespace lathe::engine {

/// Errors: not_found; model_refused when it is no regular file, cannot be read, or is larger than `max_bytes`.
/// Pipes and devices are refused without being opened for data.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

}  // namespace lathe::engine
