// SPDX-License-Identifier: Apache-2.0
// finish_operations(): waits for the operations of a backend and gives their error, with advice.
#pragma once

#include <string_view>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Advice with which the error of an operation ends.
struct OperationAdvice {
  std::string_view memory{};   ///< settings to change when the device ran out of memory: "Lower max_num_seqs"; empty: none
  std::string_view refused{};  ///< sentence for an operation that the device refused; empty: none
};
inline constexpr OperationAdvice kStepAdvice{
    .memory = "Lower max_num_batched_tokens, max_num_seqs, max_model_len or kv_cache_memory_bytes",
    .refused = "Other steps are not affected."};
inline constexpr OperationAdvice kLoadAdvice{.memory = "Use a quantization of fewer bits or a smaller model"};
inline constexpr OperationAdvice kMeasurementAdvice{};

/// Errors: resource_exhausted if the device ran out of memory, and internal if it refused an operation: later operations are
/// done again. unavailable if the device is lost: no operation is done any more.
Result<void> finish_operations(kernels::Backend& backend, const OperationAdvice& advice);

}  // namespace lathe::engine
