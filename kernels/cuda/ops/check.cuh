// SPDX-License-Identifier: Apache-2.0
// check(): aborts if a CUDA call has failed. For calls that cannot fail in a correct program on a working device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace lathe::kernels::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s failed: %s (%s)\n", what, cudaGetErrorString(status), cudaGetErrorName(status));
  std::abort();
}

}  // namespace lathe::kernels::cuda
