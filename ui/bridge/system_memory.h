// SPDX-License-Identifier: GPL-3.0-or-later
// SystemMemory: the memory of the machine as the kernel reports it.
#pragma once

namespace lathe::ui {

/// Units: bytes. Zeros where /proc/meminfo cannot be read.
struct SystemMemory {
  double total = 0, available = 0;
};
SystemMemory read_system_memory();

}  // namespace lathe::ui
