// SPDX-License-Identifier: Apache-2.0
// Finds and opens the module of CUDA kernels, so that one program runs on machines with and without a device.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/cuda_devices.h"

namespace lathe::kernels {

/// Paths at which a program in that folder looks for the module, in order.
std::vector<std::filesystem::path> cuda_module_places(const std::filesystem::path& program_folder);

/// Like load_cuda_backend(), with the driver's library and the paths given. An opened module stays open.
LoadedBackend load_cuda_module(const std::string& driver, const std::vector<std::filesystem::path>& places, int device,
                               int n_threads);
/// Like list_cuda_devices(), with the driver's library and the paths given.
CudaDevices list_devices_of_module(const std::string& driver, const std::vector<std::filesystem::path>& places);

}  // namespace lathe::kernels
