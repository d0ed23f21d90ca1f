// SPDX-License-Identifier: Apache-2.0
// MXFP4 of the Open Compute Project: numbers of 4 bits (e2m1), 32 of a row share a scale that is a power of two.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is book[code] * scale. Scales lie in f32, which has every power that E8M0 has: codes of files are kept as they
/// are. Of weights that have none yet the scale is the power of two with which the largest is 4 to 8 (those beyond 6 are
/// cut off there), the code the nearest, halfway between two the lower one. activations: `block` or `none`.
/// Source: OCP Microscaling Formats (MX) Specification 1.0, sections 5 and 6.3.
CodedFormat mxfp4_format(ActivationScale activations);

}  // namespace lathe::kernels
