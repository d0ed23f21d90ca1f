// SPDX-License-Identifier: Apache-2.0
// Finds and opens the module of CUDA kernels, so that one program runs on machines with and without a device.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Where the module is looked for, of a program in that folder.
std::vector<std::filesystem::path> cuda_module_places(const std::filesystem::path& program_folder);

/// As load_cuda_backend(), with the driver's library and the places named. A module stays open once it was opened.
LoadedBackend load_cuda_module(const std::string& driver, const std::vector<std::filesystem::path>& places, int n_threads);

}  // namespace lathe::kernels
