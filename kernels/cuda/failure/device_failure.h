// SPDX-License-Identifier: Apache-2.0
// DeviceFailure: a CUDA call that failed, or memory that a device did not have. It is thrown and caught within the module.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/api/operation_error.h"

namespace lathe::kernels::cuda {

struct DeviceFailure {
  std::string what;         ///< the call or the memory: "copying weights", "input of a product"
  std::string reason;       ///< CUDA's text of the error; empty if memory was missing
  bool is_memory = false;   ///< memory was missing
  std::size_t n_bytes = 0;  ///< size of the missing memory; 0: unknown
};

/// State of a device after a failure.
struct DeviceState {
  int index = 0;
  bool is_lost = false;  ///< every further call fails
  std::size_t free_bytes = 0, total_bytes = 0;
};

inline std::string mib_text(std::size_t n_bytes) {
  constexpr std::size_t kMib = std::size_t{1} << 20;
  return std::to_string((n_bytes + kMib - 1) / kMib) + " MiB";
}

/// The error of what `failure` ended, named by `work`: "operation mlp".
inline OperationError error_of(const std::string& work, const DeviceFailure& failure, const DeviceState& state) {
  const std::string device = "CUDA device " + std::to_string(state.index);
  if (state.is_lost) {
    const std::string reason = failure.reason.empty() ? "it gives no memory" : failure.reason;
    return {OperationFailure::device_lost, device + " was lost in " + work + " (" + failure.what + "): " + reason};
  }
  if (!failure.is_memory) {
    return {OperationFailure::refused, device + " refused " + work + " (" + failure.what + "): " + failure.reason};
  }
  const std::string asked = failure.n_bytes > 0 ? " asked for " + mib_text(failure.n_bytes) : " asked for memory";
  return {OperationFailure::out_of_memory, device + " ran out of memory: " + work + asked + " (" + failure.what + "), " +
                                               std::to_string(state.free_bytes >> 20) + " MiB free of " +
                                               mib_text(state.total_bytes)};
}

}  // namespace lathe::kernels::cuda
