// SPDX-License-Identifier: Apache-2.0
// Weights in groups along k, rounded to the nearest code: one scale in f16 a group, with or without a zero point.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is (code - middle) * scale.
/// 8 bits: codes 1 to 255, scale = max |w| / 127. 4 bits: codes 0 to 15, scale = w / -8 for the w of the largest magnitude,
/// so that all sixteen codes are used. Both as GGUF's Q8_0 and Q4_0 choose them (groups of 32), but codes are those nearest
/// to w under the scale as it is stored.
/// bits: 8 or 4. group: weights that share a scale.
CodedFormat grouped_format(int bits, int group);

/// The same with scales in f32. Those that are made here could be f16; those of files need not be: of GGUF's Q6_K a scale is
/// a product of an f16 and a whole number.
CodedFormat single_format(int bits, int group);

/// A weight is (code - zero) * scale with a zero point for each group, a whole number among the codes. All codes are used:
/// scale = (greatest - least) / (2^bits - 1), both counted with 0, which always has a code of its own.
/// bits: 8 or 4. group: weights that share a scale and a zero point.
CodedFormat asymmetric_format(int bits, int group);

}  // namespace lathe::kernels
