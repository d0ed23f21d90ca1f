// SPDX-License-Identifier: Apache-2.0
// allocation_error(): the error of memory that a backend did not give.
#pragma once

#include <string>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Gives the error of the backend's operations if its device is lost or refused one, since it gives no memory then; else
/// resource_exhausted with `message`.
tl::unexpected<Error> allocation_error(kernels::Backend& backend, std::string message, std::string where);

}  // namespace lathe::engine
