// SPDX-License-Identifier: Apache-2.0
// Opens the backend that the options name.
#pragma once

#include <memory>
#include <string_view>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// `isa` empty: the one that LATHE_ISA forces, else the best. `n_threads` 0: one a physical core.
/// Errors: invalid_argument when this machine lacks the instruction set, with those that it has; resource_exhausted when the
/// system does not give that many threads.
Result<std::unique_ptr<kernels::Backend>> open_backend(std::string_view isa, std::int64_t n_threads);

}  // namespace lathe::engine
