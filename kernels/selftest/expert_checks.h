// SPDX-License-Identifier: Apache-2.0
// Checks of mixtures of experts on backends that have them.
#pragma once

#include <functional>

#include "kernels/api/selftest.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::kernels {

/// Checks the choice of experts with choose_experts(), mixtures with mlp() for one expert after another, bit by bit, and
/// with the reference, and a row alone with the same row among others. Calls `add` with each check, of which there are none
/// for a backend without PackedExperts.
void check_experts(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add);

}  // namespace lathe::kernels
