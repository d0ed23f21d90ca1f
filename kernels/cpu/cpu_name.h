// SPDX-License-Identifier: Apache-2.0
// The model name that the processor gives itself.
#pragma once

#include <string>

namespace lathe::kernels {

std::string cpu_name();

}  // namespace lathe::kernels
