// SPDX-License-Identifier: Apache-2.0
// Weights in groups along k with a scale and a minimum, both in f32, as in GGUF's Q4_1, Q5_1 and k-quants.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is code * scale + minimum, rounded once. Codes, scales and minimums of files are kept as they are: f32 holds
/// exactly the products that k-quants define as scales and minimums. If weights have no codes yet, the minimum is the least
/// weight of the group and the scale is (greatest - least) / (2^bits - 1).
/// bits: 8 or 4. group: weights that share a scale and a minimum.
CodedFormat minned_format(int bits, int group);

}  // namespace lathe::kernels
