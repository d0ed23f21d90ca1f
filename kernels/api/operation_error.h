// SPDX-License-Identifier: Apache-2.0
// OperationError: why a backend could not do an operation.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::kernels {

enum class OperationFailure : std::uint8_t {
  out_of_memory,  ///< the device has no memory left; later operations may succeed
  refused,        ///< the device did not take the operation; later operations may succeed
  device_lost     ///< the device answers no more in this process; every later operation fails
};

struct OperationError {
  OperationFailure kind = OperationFailure::refused;
  std::string message;  ///< device, operation and numbers: "CUDA device 0 ran out of memory: mlp asked for 12 MiB, ..."
};

}  // namespace lathe::kernels
