// SPDX-License-Identifier: Apache-2.0
// What a program and liblathe_cuda.so agree on.
#pragma once

#include <cstddef>

#include "kernels/api/backend.h"

namespace lathe::kernels {

inline constexpr const char* kCudaEntryName = "lathe_cuda_backend";
inline constexpr const char* kCudaModuleName = "liblathe_cuda.so";

/// A backend on the first device that belongs to the caller, or null, and why not in `why` (cut to `n_why`, ended by 0).
/// `interface` is LATHE_CUDA_INTERFACE, which the build makes of kernels/api and this file: a module that was built with
/// others is refused. Throws std::system_error when the system does not give that many threads.
using CudaEntry = Backend* (*)(const char* interface, int n_threads, char* why, std::size_t n_why);

}  // namespace lathe::kernels
