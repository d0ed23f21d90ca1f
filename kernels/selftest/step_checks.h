// SPDX-License-Identifier: Apache-2.0
// Checks of operations against those that they are made of, on one backend: results are to have the same bits.
#pragma once

#include <functional>

#include "kernels/api/selftest.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::kernels {

/// Checks project_qkv() in several forms, arrays in a step, and results for the host. Calls `add` with each check.
void check_steps(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add);

}  // namespace lathe::kernels
