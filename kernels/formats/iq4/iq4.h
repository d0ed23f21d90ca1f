// SPDX-License-Identifier: Apache-2.0
// IQ4_NL and IQ4_XS of GGUF: codes of 4 bits for whole numbers that lie unevenly, 32 of a row share a scale.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is book[code] * scale. Scales lie in f32, where those of IQ4_XS, an f16 times a whole number, are exact: codes
/// of files are kept as they are. Of weights that have none yet the scale is the least with which none lies outside the
/// book, the code the nearest.
CodedFormat iq4_format();

}  // namespace lathe::kernels
