// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/encoders.h"
#include "kernels/cpu/ops/encoders.h"

namespace lathe::kernels {

constexpr Encoders kAvx512Encoders = kEncoders;

}  // namespace lathe::kernels
