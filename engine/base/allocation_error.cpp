// SPDX-License-Identifier: Apache-2.0
#include "engine/base/allocation_error.h"

#include "engine/base/finish_operations.h"

namespace lathe::engine {

tl::unexpected<Error> allocation_error(kernels::Backend& backend, std::string message, std::string where) {
  const Result<void> finished = finish_operations(backend, kLoadAdvice);
  if (!finished && finished.error().code != ErrorCode::resource_exhausted) return tl::unexpected(finished.error());
  return fail(ErrorCode::resource_exhausted, std::move(message), std::move(where));
}

}  // namespace lathe::engine
