// SPDX-License-Identifier: Apache-2.0
// Devices of the CUDA runtime, and reasons why the kernels do not run on one.
#pragma once

#include <string>

#include "kernels/api/cuda_devices.h"

namespace lathe::kernels::cuda {

/// The devices in the order of the runtime, 64 at most. `library`: name of the management library, which is asked for free
/// memory.
CudaDevices list_devices(const char* library);

/// Reason why device `index` cannot be used; empty: it can. The first use of a device fails if another program uses it
/// exclusively or has left too little memory. Chooses the device for the calling thread.
std::string device_refusal(int index);

}  // namespace lathe::kernels::cuda
