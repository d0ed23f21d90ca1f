// SPDX-License-Identifier: Apache-2.0
// once_per_device(): values that differ between the devices of a process: attributes of kernels, numbers of the device.
#pragma once

#include <array>
#include <mutex>

#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {

/// Devices that a process may use; the list of devices ends there.
inline constexpr int kMostDevices = 64;

inline int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "querying the device");
  return device;
}

/// The result of make() for the thread's current device, which is computed once. Requires: `make` is a lambda, which has
/// a type of its own at each place of the program. Errors: those of make(), which is then called again the next time.
template <class Make>
auto once_per_device(const Make& make) {
  struct Slot {
    std::once_flag once;
    decltype(make()) value{};
  };
  static std::array<Slot, kMostDevices> slots;
  Slot& slot = slots[static_cast<std::size_t>(current_device())];
  std::call_once(slot.once, [&] { slot.value = make(); });
  return slot.value;
}

}  // namespace lathe::kernels::cuda
