// SPDX-License-Identifier: Apache-2.0
// CudaDevices: the CUDA devices of this machine, as the driver names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::kernels {

struct CudaDevice {
  int index = 0;             ///< N of cuda:N; CUDA_VISIBLE_DEVICES decides which devices there are, and their order
  std::string name{};        ///< "NVIDIA H200"
  int major = 0, minor = 0;  ///< compute capability
  std::int64_t total_bytes = 0;
  std::optional<std::int64_t> free_bytes{};  ///< nothing: the driver does not say
  std::string why_not{};                     ///< reason why the kernels do not run on it; empty: they do
};

struct CudaDevices {
  std::vector<CudaDevice> devices{};
  std::string why_not{};  ///< if there is none, the missing thing: the driver, the module, a device
};

/// Asks the module of CUDA kernels, as load_cuda_backend() does. Uses no memory of the devices where the driver's management
/// library (libnvidia-ml.so.1) says how much is free, and otherwise as much as a program takes that begins to use them.
CudaDevices list_cuda_devices();

}  // namespace lathe::kernels
