// SPDX-License-Identifier: Apache-2.0
#include "engine/model/finish_operations.h"

#include <fmt/format.h>

namespace lathe::engine {

Result<void> finish_operations(kernels::Backend& backend) {
  backend.finish();
  const std::optional<kernels::OperationError> error = backend.take_error();
  if (!error) return {};
  switch (error->kind) {
    case kernels::OperationFailure::out_of_memory:
      return fail(ErrorCode::resource_exhausted,
                  fmt::format("{:.700}. Lower max_num_batched_tokens, max_num_seqs, max_model_len or kv_cache_memory_bytes, "
                              "or end other programs that use the device.",
                              error->message),
                  "device memory");
    case kernels::OperationFailure::device_lost:
      return fail(ErrorCode::unavailable,
                  fmt::format("{:.700}. Nothing can be computed on it until this program is started again.", error->message),
                  "device");
    case kernels::OperationFailure::refused: break;
  }
  return fail(ErrorCode::internal, fmt::format("{:.700}. Other steps are not affected.", error->message), "device");
}

}  // namespace lathe::engine
