// SPDX-License-Identifier: Apache-2.0
// Checks of recurrent layers on backends that have their operations.
#pragma once

#include <functional>

#include "kernels/api/selftest.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::kernels {

/// Checks a layer of gated delta net and a short convolution against the reference, and a prompt in two steps with the
/// prompt in one, bit by bit. Calls `add` with each check, of which there are none for a backend without
/// recurrent_operations().
void check_recurrent_layers(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add);

}  // namespace lathe::kernels
