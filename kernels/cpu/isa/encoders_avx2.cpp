// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/encoders.h"
#include "kernels/cpu/ops/encoders.h"

namespace lathe::kernels {

constexpr Encoders kAvx2Encoders = kEncoders;

}  // namespace lathe::kernels
