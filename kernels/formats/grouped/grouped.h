// SPDX-License-Identifier: Apache-2.0
// Weights rounded to the nearest code in groups along k, with one scale per group, with or without a zero point.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is (code - middle) * scale, the scale in f16.
/// 8 bits: codes 1 to 255, scale = max |w| / 127. 4 bits: codes 0 to 15, scale = w / -8 for the w of the largest magnitude,
/// so that all sixteen codes are used. GGUF's Q8_0 and Q4_0 choose scales likewise (groups of 32), but here the code is the
/// nearest to w under the scale as it is stored.
/// bits: 8 or 4. group: weights that share a scale.
CodedFormat grouped_format(int bits, int group);

/// Like grouped_format(), with scales in f32. Scales computed here would fit f16, but those of files need not: a scale of
/// GGUF's Q6_K is the product of an f16 and an integer.
CodedFormat single_format(int bits, int group);

/// A weight is (code - zero) * scale with a zero point per group, an integer among the codes. All codes are used: scale =
/// (greatest - least) / (2^bits - 1), both taken with 0 included, which therefore always has an exact code.
/// bits: 8 or 4. group: weights that share a scale and a zero point.
CodedFormat asymmetric_format(int bits, int group);

}  // namespace lathe::kernels
