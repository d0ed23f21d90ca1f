// SPDX-License-Identifier: Apache-2.0
// The encoders of each instruction set.
#pragma once

#include <string_view>

#include "kernels/cpu/table/encoders.h"

namespace lathe::kernels {

/// Null where the formats' own functions are all there is. Requires: this machine has `isa`, a name of isas().
const Encoders* encoders_of(std::string_view isa);

extern const Encoders kAvx2Encoders;
extern const Encoders kAvx512Encoders;

}  // namespace lathe::kernels
