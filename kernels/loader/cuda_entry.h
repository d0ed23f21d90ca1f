// SPDX-License-Identifier: Apache-2.0
// Interface between a program and liblathe_cuda.so.
#pragma once

#include <cstddef>

#include "kernels/api/backend.h"

namespace lathe::kernels {

inline constexpr const char* kCudaEntryName = "lathe_cuda_backend";
inline constexpr const char* kCudaModuleName = "liblathe_cuda.so";

/// Creates a backend on the first device. Owns: the caller owns the result. `interface` is LATHE_CUDA_INTERFACE, which the
/// build derives from kernels/api and this file: a module that was built with another interface refuses. Errors: null, with
/// the reason in `why` (cut to `n_why` bytes, null-terminated); throws std::system_error when the system does not provide
/// n_threads threads.
using CudaEntry = Backend* (*)(const char* interface, int n_threads, char* why, std::size_t n_why);

}  // namespace lathe::kernels
