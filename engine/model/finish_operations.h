// SPDX-License-Identifier: Apache-2.0
// finish_operations(): waits for the operations of a backend and gives their error, with advice.
#pragma once

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Errors: resource_exhausted if the device ran out of memory, and internal if it refused an operation: later operations are
/// done again. unavailable if the device is lost: no operation is done any more.
Result<void> finish_operations(kernels::Backend& backend);

}  // namespace lathe::engine
