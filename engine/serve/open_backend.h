// SPDX-License-Identifier: Apache-2.0
// Opens the backend that the options name.
#pragma once

#include <memory>

#include "engine/api/options.h"
#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Errors: invalid_argument when this machine lacks the instruction set, with those that it has.
Result<std::unique_ptr<kernels::Backend>> open_backend(const std::string& isa, std::int64_t n_threads);

}  // namespace lathe::engine
