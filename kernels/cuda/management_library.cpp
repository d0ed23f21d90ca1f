// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/management_library.h"

#include <dlfcn.h>

namespace lathe::kernels::cuda {
namespace {

// As in nvml.h, which is no part of every installation of CUDA.
using Status = int;
constexpr Status kDone = 0;
struct Memory {
  unsigned long long total, free, used;
};
using Init = Status (*)();
using Shutdown = Status (*)();
using FindDevice = Status (*)(const char* pci_bus_id, void** device);
using MemoryInfo = Status (*)(void* device, Memory* memory);

template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

ManagementLibrary::ManagementLibrary(const char* name) : library_(dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
  if (library_ == nullptr) return;
  const auto init = function_of<Init>(library_, "nvmlInit_v2");
  if (init != nullptr && init() == kDone) return;
  dlclose(library_);
  library_ = nullptr;
}

ManagementLibrary::~ManagementLibrary() {
  if (library_ == nullptr) return;
  if (const auto shutdown = function_of<Shutdown>(library_, "nvmlShutdown")) shutdown();
  dlclose(library_);
}

std::optional<DeviceMemory> ManagementLibrary::memory_of(const char* pci_bus_id) const {
  if (library_ == nullptr) return std::nullopt;
  const auto find_device = function_of<FindDevice>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto memory_info = function_of<MemoryInfo>(library_, "nvmlDeviceGetMemoryInfo");
  void* device = nullptr;
  Memory memory{};
  if (find_device == nullptr || memory_info == nullptr || find_device(pci_bus_id, &device) != kDone ||
      memory_info(device, &memory) != kDone)
    return std::nullopt;
  return DeviceMemory{.free = static_cast<std::int64_t>(memory.free), .total = static_cast<std::int64_t>(memory.total)};
}

}  // namespace lathe::kernels::cuda
