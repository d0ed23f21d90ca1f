// SPDX-License-Identifier: Apache-2.0
// Interface between a program and liblathe_cuda.so.
#pragma once

#include <cstddef>

#include "kernels/api/backend.h"
#include "kernels/api/cuda_devices.h"

namespace lathe::kernels {

inline constexpr const char* kCudaEntryName = "lathe_cuda_backend";
inline constexpr const char* kCudaListName = "lathe_cuda_devices";
inline constexpr const char* kCudaModuleName = "liblathe_cuda.so";

/// Creates a backend on a device. Owns: the caller owns the result. `interface` is LATHE_CUDA_INTERFACE, which the
/// build derives from kernels/api and this file: a module that was built with another interface refuses. Errors: null, with
/// the reason in `why` (cut to `n_why` bytes, null-terminated); throws std::system_error when the system does not provide
/// n_threads threads.
using CudaEntry = Backend* (*)(const char* interface, int device, int n_threads, char* why, std::size_t n_why);

/// Fills `list`, which is empty before. `interface` as for CudaEntry: a module that was built with another interface leaves
/// only the reason.
using CudaList = void (*)(const char* interface, CudaDevices& list);

}  // namespace lathe::kernels
