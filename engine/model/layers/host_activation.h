// SPDX-License-Identifier: Apache-2.0
// Activations of single numbers, computed on the host: for products that no operation of the backend has.
#pragma once

#include "kernels/api/backend.h"

namespace lathe::engine {

/// Requires: an activation of one number, so not clamped_silu.
float activated(kernels::Activation activation, float x);

}  // namespace lathe::engine
