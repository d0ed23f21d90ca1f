// SPDX-License-Identifier: Apache-2.0
#include "engine/base/finish_operations.h"

#include <fmt/format.h>

namespace lathe::engine {

Result<void> finish_operations(kernels::Backend& backend, const OperationAdvice& advice) {
  backend.finish();
  const std::optional<kernels::OperationError> error = backend.take_error();
  if (!error) return {};
  switch (error->kind) {
    case kernels::OperationFailure::out_of_memory:
      return fail(ErrorCode::resource_exhausted,
                  fmt::format("{:.700}. {}{} other programs that use the device.", error->message, advice.memory,
                              advice.memory.empty() ? "End" : ", or end"),
                  "device memory");
    case kernels::OperationFailure::device_lost:
      return fail(ErrorCode::unavailable,
                  fmt::format("{:.700}. Nothing can be computed on it until this program is started again.", error->message),
                  "device");
    case kernels::OperationFailure::refused: break;
  }
  return fail(ErrorCode::internal,
              fmt::format("{:.700}.{}{}", error->message, advice.refused.empty() ? "" : " ", advice.refused), "device");
}

}  // namespace lathe::engine
