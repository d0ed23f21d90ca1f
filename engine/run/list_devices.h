// SPDX-License-Identifier: Apache-2.0
// Makes the list of devices of CUDA devices that the caller has found, such as those of a test.
#pragma once

#include <vector>

#include "engine/api/machine.h"
#include "kernels/api/cuda_devices.h"

namespace lathe::engine {

/// list_devices() with these CUDA devices.
std::vector<DeviceInfo> with_processors(const kernels::CudaDevices& list);

}  // namespace lathe::engine
