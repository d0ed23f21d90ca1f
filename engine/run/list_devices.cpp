// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "engine/api/machine.h"
#include "engine/base/free_memory.h"
#include "engine/run/list_devices.h"
#include "engine/run/open_backend.h"

namespace lathe::engine {
namespace {

DeviceInfo processors() {
  const auto backend = kernels::make_cpu_backend({.n_threads = 1});
  const std::int64_t total_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return {.option = "cpu",
          .name = backend ? backend->info().device : std::string(),
          .compute_capability = {},
          .total_bytes = total_bytes,
          .free_bytes = free_memory_bytes(),
          .why_not = {}};
}

}  // namespace

std::vector<DeviceInfo> with_processors(const kernels::CudaDevices& list) {
  std::vector<DeviceInfo> devices = {processors()};
  for (const kernels::CudaDevice& device : list.devices) {
    devices.push_back({.option = fmt::format("cuda:{}", device.index),
                       .name = device.name,
                       .compute_capability = device.major > 0 ? fmt::format("{}.{}", device.major, device.minor) : "",
                       .total_bytes = device.total_bytes,
                       .free_bytes = device.free_bytes,
                       .why_not = device.why_not});
  }
  if (list.devices.empty()) devices.push_back({.option = "cuda", .why_not = list.why_not});
  return devices;
}

std::vector<DeviceInfo> list_devices() { return with_processors(kernels::list_cuda_devices()); }

bool is_same_device(std::string_view a, std::string_view b) {
  const std::optional<NamedDevice> first = find_device(a), second = find_device(b);
  return first && second && first->device == second->device && first->index == second->index;
}

}  // namespace lathe::engine
