// SPDX-License-Identifier: Apache-2.0
// IQ4_NL and IQ4_XS of GGUF: 4-bit codes that index a codebook of unevenly spaced integers; 32 weights of a row share a
// scale.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is codebook[code] * scale. Scales are f32, which holds those of IQ4_XS, an f16 times an integer, exactly; codes
/// of files are kept as they are. If weights have no codes yet, the scale is the smallest with which no weight exceeds the
/// codebook, and the code is the nearest.
CodedFormat iq4_format();

}  // namespace lathe::kernels
