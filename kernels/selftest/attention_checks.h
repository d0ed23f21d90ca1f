// SPDX-License-Identifier: Apache-2.0
// Checks that attention has the same bits in every batch, on one backend.
#pragma once

#include <functional>

#include "kernels/api/selftest.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::kernels {

/// Checks rows alone, in chunks and in whole prompts, and attend() against its parts. Calls `add` with each check.
void check_attention_bits(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add);

}  // namespace lathe::kernels
