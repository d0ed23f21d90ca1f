// SPDX-License-Identifier: Apache-2.0
// Reads the model name that the processor reports (CPUID).
#pragma once

#include <string>

namespace lathe::kernels {

std::string cpu_name();

}  // namespace lathe::kernels
