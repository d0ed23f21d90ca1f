// SPDX-License-Identifier: Apache-2.0
// Weights as floating point numbers of 8 bits with one scale for each output, "fp8", or for each group of its weights.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is e4m3(code) * scale, the scale max |w| / 448 of its output in f32, and its code that of w / scale, to nearest,
/// ties to even. Of what is no number there is no code: it becomes 0. Activations: `row` rounds them to e4m3 as well, with a
/// scale max |x| / 448 of each token; `none` leaves them as they are.
/// Source: OCP 8-bit Floating Point Specification 1.0; vLLM and FBGEMM, rowwise weights and per-token activations.
CodedFormat e4m3_format(ActivationScale activations);

/// The same with a scale for each `group` weights of a row; activations stay as they are. Blocks of rows and columns that
/// share a scale are such groups, their scale once for each row.
/// Source: DeepSeek-AI 2024, DeepSeek-V3, section 3.3.2.
CodedFormat e4m3_group_format(int group);

}  // namespace lathe::kernels
