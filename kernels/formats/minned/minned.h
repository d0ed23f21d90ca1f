// SPDX-License-Identifier: Apache-2.0
// Weights in groups along k with a scale and a minimum, both in f32, as GGUF's Q4_1, Q5_1 and k-quants have them.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is code * scale + minimum, rounded once. Codes, scales and minimums of files are kept as they are: in f32 the
/// products that k-quants have in their place are exact. Of weights that have none yet the minimum is the least of the group
/// and the scale (greatest - least) / (2^bits - 1).
/// bits: 8 or 4. group: weights that share a scale and a minimum.
CodedFormat minned_format(int bits, int group);

}  // namespace lathe::kernels
