// SPDX-License-Identifier: Apache-2.0
// Encoders of the instruction sets.
#pragma once

#include <string_view>

#include "kernels/cpu/table/encoders.h"

namespace lathe::kernels {

/// Null if the instruction set has only the formats' own functions. Requires: this machine has `isa`, a name of isas().
const Encoders* encoders_of(std::string_view isa);

extern const Encoders kAvx2Encoders;
extern const Encoders kAvx512Encoders;

}  // namespace lathe::kernels
