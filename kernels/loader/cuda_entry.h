// SPDX-License-Identifier: Apache-2.0
// What a program and liblathe_cuda.so agree on.
#pragma once

#include <cstddef>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Changes whenever Backend, or a type that goes through it, does: a module of another build is refused.
inline constexpr int kCudaEntryVersion = 1;
inline constexpr const char* kCudaEntryName = "lathe_cuda_backend";
inline constexpr const char* kCudaModuleName = "liblathe_cuda.so";

/// A backend on the first device that belongs to the caller, or null, and why not in `why` (cut to `n_why`, ended by 0).
using CudaEntry = Backend* (*)(int version, int n_threads, char* why, std::size_t n_why);

}  // namespace lathe::kernels
