// SPDX-License-Identifier: Apache-2.0
// Weights as 8-bit floating point values ("fp8") with one scale per output or per group of weights.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is e4m3(code) * scale; the scale is max |w| / 448 of its output, in f32, and the code is w / scale rounded to
/// nearest, ties to even. NaN has no code and becomes 0. activations: `row` rounds activations to e4m3 as well, with a scale
/// max |x| / 448 per token; `none` leaves them as they are.
/// Source: OCP 8-bit Floating Point Specification 1.0; vLLM and FBGEMM, rowwise weights and per-token activations.
CodedFormat e4m3_format(ActivationScale activations);

/// Like e4m3_format(ActivationScale::none), with a scale for each `group` consecutive weights of a row. A block of rows and
/// columns that share a scale is stored as such groups, with the scale repeated for each row.
/// Source: DeepSeek-AI 2024, DeepSeek-V3, section 3.3.2.
CodedFormat e4m3_group_format(int group);

}  // namespace lathe::kernels
