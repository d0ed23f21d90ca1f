// SPDX-License-Identifier: Apache-2.0
// ManagementLibrary: NVML, the driver's library that watches devices without using them.
#pragma once

#include <cstdint>
#include <optional>

namespace lathe::kernels::cuda {

inline constexpr const char* kManagementLibrary = "libnvidia-ml.so.1";

/// Units: bytes.
struct DeviceMemory {
  std::int64_t free = 0, total = 0;
};

/// Owns: the opened library.
/// Source: https://docs.nvidia.com/deploy/nvml-api, whose functions keep their form under their names.
class ManagementLibrary {
 public:
  /// Opens the library, if the system has it. Null: functions of the program itself, which a test defines.
  explicit ManagementLibrary(const char* name);
  ~ManagementLibrary();
  ManagementLibrary(const ManagementLibrary&) = delete;
  ManagementLibrary& operator=(const ManagementLibrary&) = delete;

  /// Memory of the device at that address of the PCI bus ("0000:3B:00.0"): of the whole card, even if it is divided (MIG).
  /// nullopt: the library is missing or does not answer.
  std::optional<DeviceMemory> memory_of(const char* pci_bus_id) const;

 private:
  void* library_ = nullptr;  ///< null: the library is missing or did not start
};

}  // namespace lathe::kernels::cuda
