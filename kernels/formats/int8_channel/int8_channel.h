// SPDX-License-Identifier: Apache-2.0
// Weights in 8 bits with one scale per output, for activations in 8 bits with one scale per token.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A weight is (code - 128) * scale; the scale is max |w| / 127 of its output, at least 1e-5 / 127. Known as "dynamic int8"
/// and W8A8.
/// Source: Xiao et al. 2022 (SmoothQuant), per-channel weights and per-token activations.
CodedFormat int8_channel_format();

/// LLM.int8() as bitsandbytes computes it: weights are rounded to f16 first, scale = max |w|, and a weight is (code - 128) *
/// scale / 127. Activations of magnitude 6 and more are multiplied without rounding. The package takes the whole column of
/// such an activation out of the 8-bit product, for all tokens of a batch; here each token takes out only its own, so that
/// its result does not depend on the rest of the batch. Source: Dettmers et al. 2022.
CodedFormat llm_int8_format();

}  // namespace lathe::kernels
