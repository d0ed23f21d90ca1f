// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device_list.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "kernels/cuda/management_library.h"
#include "kernels/cuda/ops/once_per_device.cuh"

namespace lathe::kernels::cuda {
namespace {

// The least device that the kernels were run on. Large tiles and long heads take up to 173 KB of shared memory for each
// block; consumer cards have 99 KB.
constexpr int kLeastMajor = 9;
constexpr std::size_t kLeastSharedBytes = std::size_t{200} << 10;
// Parts of a divided card (MIG) have less memory than the card; the runtime keeps a little of a whole one to itself.
constexpr double kLeastShareOfCard = 0.9;

std::string quoted(const char* text) { return std::string("\"") + text + '"'; }

/// Number of devices, or the reason why there is none.
int count_devices(std::string& why_not) {
  int n_devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&n_devices);
  if (status == cudaSuccess && n_devices > 0) return std::min(n_devices, kMostDevices);
  static_cast<void>(cudaGetLastError());
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    why_not = "the NVIDIA driver is too old: it supports CUDA " + std::to_string(driver / 1000) + "." +
              std::to_string(driver % 1000 / 10) + ", but the kernels need " + std::to_string(CUDART_VERSION / 1000);
  } else if (status == cudaErrorNoDevice || status == cudaSuccess) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    why_not = "there is an NVIDIA driver, but no CUDA device";
    if (visible != nullptr) why_not += "; CUDA_VISIBLE_DEVICES is " + quoted(visible);
  } else {
    why_not = std::string("CUDA cannot start: ") + cudaGetErrorString(status);
  }
  return 0;
}

/// Reason why the kernels do not run on such a device; empty: they do.
std::string unsuitable(const cudaDeviceProp& device) {
  const std::string name = device.name;
  if (device.major < kLeastMajor) {
    return name + " has compute capability " + std::to_string(device.major) + "." + std::to_string(device.minor) +
           ", but the kernels need 9.0";
  }
  if (device.sharedMemPerBlockOptin < kLeastSharedBytes) {
    return name + " has " + std::to_string(device.sharedMemPerBlockOptin >> 10) +
           " KB of shared memory per block, but the kernels need " + std::to_string(kLeastSharedBytes >> 10);
  }
  if (device.concurrentManagedAccess == 0)
    return name +
           " does not support memory that the host reads and writes while the device computes (concurrentManagedAccess)";
  return {};
}

std::optional<std::int64_t> free_bytes_of(int index, const cudaDeviceProp& device, const ManagementLibrary& library) {
  std::array<char, 32> bus_id{};
  if (cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), index) == cudaSuccess) {
    const std::optional<DeviceMemory> memory = library.memory_of(bus_id.data());
    if (memory && static_cast<double>(device.totalGlobalMem) >= kLeastShareOfCard * static_cast<double>(memory->total))
      return std::min(memory->free, static_cast<std::int64_t>(device.totalGlobalMem));
  }
  std::size_t free = 0, total = 0;
  if (cudaSetDevice(index) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess)
    return static_cast<std::int64_t>(free);
  static_cast<void>(cudaGetLastError());
  return std::nullopt;
}

}  // namespace

CudaDevices list_devices(const char* library) {
  CudaDevices list;
  const int n_devices = count_devices(list.why_not);
  const ManagementLibrary management(library);
  for (int index = 0; index < n_devices; ++index) {
    cudaDeviceProp device{};
    if (cudaGetDeviceProperties(&device, index) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      list.devices.push_back({.index = index, .name = "CUDA device", .why_not = "the CUDA device does not answer"});
      continue;
    }
    list.devices.push_back({.index = index,
                            .name = device.name,
                            .major = device.major,
                            .minor = device.minor,
                            .total_bytes = static_cast<std::int64_t>(device.totalGlobalMem),
                            .free_bytes = free_bytes_of(index, device, management),
                            .why_not = unsuitable(device)});
  }
  return list;
}

std::string device_refusal(int index) {
  std::string why_not;
  const int n_devices = count_devices(why_not);
  if (n_devices == 0) return why_not;
  cudaDeviceProp device{};
  if (index < 0 || index >= n_devices) {
    why_not = "there is no CUDA device " + std::to_string(index) + "; this machine has";
    for (int i = 0; i < n_devices; ++i) {
      const bool answers = cudaGetDeviceProperties(&device, i) == cudaSuccess;
      why_not +=
          (i == 0 ? " cuda:" : ", cuda:") + std::to_string(i) + (answers ? std::string(" (") + device.name + ")" : "");
    }
    return why_not;
  }
  if (cudaGetDeviceProperties(&device, index) != cudaSuccess) return "the CUDA device does not answer";
  why_not = unsuitable(device);
  if (!why_not.empty()) return why_not;
  cudaError_t begun = cudaSetDevice(index);
  if (begun == cudaSuccess) begun = cudaFree(nullptr);
  return begun == cudaSuccess ? std::string() : std::string(device.name) + " cannot be used: " + cudaGetErrorString(begun);
}

}  // namespace lathe::kernels::cuda
