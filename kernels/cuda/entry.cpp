// SPDX-License-Identifier: Apache-2.0
// Entry point of the module: its only exported function.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/loader/cuda_entry.h"

namespace lathe::kernels::cuda {
namespace {

// The least device that the kernels were run on. Large tiles and long heads take up to 173 KB of shared memory for each
// block; consumer cards have 99 KB.
constexpr int kLeastMajor = 9;
constexpr std::size_t kLeastSharedBytes = std::size_t{200} << 10;

/// Reason why the first device cannot be used; empty: it can.
std::string device_refusal() {
  int n_devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&n_devices);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    return "the NVIDIA driver is too old: it supports CUDA " + std::to_string(driver / 1000) + "." +
           std::to_string(driver % 1000 / 10) + ", but the kernels need " + std::to_string(CUDART_VERSION / 1000);
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && n_devices == 0))
    return "there is an NVIDIA driver, but no CUDA device";
  if (status != cudaSuccess) return std::string("CUDA cannot start: ") + cudaGetErrorString(status);
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return "the CUDA device does not answer";
  if (device.major < kLeastMajor) {
    return std::string(device.name) + " has compute capability " + std::to_string(device.major) + "." +
           std::to_string(device.minor) + ", but the kernels need 9.0";
  }
  if (device.sharedMemPerBlockOptin < kLeastSharedBytes) {
    return std::string(device.name) + " has " + std::to_string(device.sharedMemPerBlockOptin >> 10) +
           " KB of shared memory per block, but the kernels need " + std::to_string(kLeastSharedBytes >> 10);
  }
  if (device.concurrentManagedAccess == 0)
    return std::string(device.name) +
           " does not support memory that the host reads and writes while the device computes (concurrentManagedAccess)";
  // The first use of the device fails if another program uses it exclusively or has left too little memory.
  const cudaError_t begun = cudaFree(nullptr);
  return begun == cudaSuccess ? std::string() : std::string(device.name) + " cannot be used: " + cudaGetErrorString(begun);
}

}  // namespace
}  // namespace lathe::kernels::cuda

extern "C" __attribute__((visibility("default"))) lathe::kernels::Backend* lathe_cuda_backend(const char* version,
                                                                                              int n_threads, char* why,
                                                                                              std::size_t n_why) {
  const auto refuse = [&](const std::string& text) -> lathe::kernels::Backend* {
    std::snprintf(why, n_why, "%s", text.c_str());
    return nullptr;
  };
  if (std::string_view(version) != LATHE_CUDA_INTERFACE)
    return refuse("the module of CUDA kernels belongs to another build of Lathe");
  const std::string refusal = lathe::kernels::cuda::device_refusal();
  if (!refusal.empty()) return refuse(refusal);
  try {
    return new lathe::kernels::cuda::CudaBackend(n_threads);
  } catch (const lathe::kernels::cuda::DeviceFailure& failure) {
    return refuse("the CUDA device cannot be used (" + failure.what + "): " + failure.reason);
  }
}
