// SPDX-License-Identifier: Apache-2.0
// measured(): runs a measurement on a backend and gives what kept it from ending.
#pragma once

#include <new>

#include "engine/base/finish_operations.h"

namespace lathe::engine {

/// Errors: those of finish_operations(); resource_exhausted if the backend has no memory for the measurement's tensors.
template <class Body>
Result<void> measured(kernels::Backend& backend, const Body& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    LATHE_TRY_VOID(finish_operations(backend, kMeasurementAdvice));
    return fail(ErrorCode::resource_exhausted, "no memory is left for the tensors of this measurement; end other programs",
                backend.info().name);
  }
  return finish_operations(backend, kMeasurementAdvice);
}

}  // namespace lathe::engine
