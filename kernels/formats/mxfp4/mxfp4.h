// SPDX-License-Identifier: Apache-2.0
// MXFP4 of the Open Compute Project: 4-bit values (e2m1); 32 weights of a row share a scale that is a power of two.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is codebook[code] * scale. Scales are f32, which holds every power that E8M0 has; codes of files are kept as
/// they are. If weights have no codes yet, the scale is the power of two with which the largest weight becomes 4 to 8
/// (values beyond 6 are clamped to 6), and the code is the nearest, halfway between two values the lower one. activations:
/// `block` or `none`.
/// Source: OCP Microscaling Formats (MX) Specification 1.0, sections 5 and 6.3.
CodedFormat mxfp4_format(ActivationScale activations);

}  // namespace lathe::kernels
