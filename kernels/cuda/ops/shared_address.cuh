// SPDX-License-Identifier: Apache-2.0
// Addresses in the window of shared memory, which instructions for copies, barriers and matrices take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

}  // namespace lathe::kernels::cuda
