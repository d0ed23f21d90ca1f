// SPDX-License-Identifier: Apache-2.0
// Aborts when CUDA says that something failed which cannot fail in a correct program on a sound device.
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
