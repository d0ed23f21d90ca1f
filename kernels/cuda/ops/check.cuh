// SPDX-License-Identifier: Apache-2.0
// check(): throws if a CUDA call has failed.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "kernels/cuda/failure/device_failure.h"

namespace lathe::kernels::cuda {

/// `what` names the call in the message. Errors: throws DeviceFailure, which ends the operation (FailureRecord::run).
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw DeviceFailure{.what = what,
                      .reason = std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")",
                      .is_memory = status == cudaErrorMemoryAllocation};
}

}  // namespace lathe::kernels::cuda
