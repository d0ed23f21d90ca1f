// SPDX-License-Identifier: Apache-2.0
// The one function of the module that others see.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>
#include <system_error>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/loader/cuda_entry.h"

namespace lathe::kernels::cuda {
namespace {

// bf16 in tensor cores and copies past the registers: Ampere.
constexpr int kLeastMajor = 8;

/// What is against the first device; empty: nothing.
std::string device_refusal() {
  int n_devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&n_devices);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    return "the NVIDIA driver is too old: it knows CUDA " + std::to_string(driver / 1000) + "." +
           std::to_string(driver % 1000 / 10) + ", the kernels need " + std::to_string(CUDART_VERSION / 1000);
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && n_devices == 0))
    return "there is a driver, but no CUDA device";
  if (status != cudaSuccess) return std::string("CUDA cannot start: ") + cudaGetErrorString(status);
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return "the CUDA device does not answer";
  if (device.major < kLeastMajor) {
    return std::string(device.name) + " has compute capability " + std::to_string(device.major) + "." +
           std::to_string(device.minor) + ", the kernels need 8.0";
  }
  if (device.concurrentManagedAccess == 0)
    return std::string(device.name) + " does not share memory with the host while it computes";
  return {};
}

}  // namespace
}  // namespace lathe::kernels::cuda

extern "C" __attribute__((visibility("default"))) lathe::kernels::Backend* lathe_cuda_backend(int version, int n_threads,
                                                                                              char* why, std::size_t n_why) {
  const auto refuse = [&](const std::string& text) -> lathe::kernels::Backend* {
    std::snprintf(why, n_why, "%s", text.c_str());
    return nullptr;
  };
  if (version != lathe::kernels::kCudaEntryVersion) return refuse("the module of CUDA kernels is of another version");
  const std::string refusal = lathe::kernels::cuda::device_refusal();
  if (!refusal.empty()) return refuse(refusal);
  try {
    return new lathe::kernels::cuda::CudaBackend(n_threads);
  } catch (const std::system_error& error) {
    return refuse("the system does not give " + std::to_string(n_threads) + " threads: " + error.code().message());
  }
}
