// SPDX-License-Identifier: Apache-2.0
// NF4 and FP4 as bitsandbytes defines them: 4-bit codes that index a codebook of unevenly spaced values, in blocks of 64
// weights.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

inline constexpr int kBnbBlock = 64;

/// A weight is codebook[code] * scale; the scale is max |w| of 64 consecutive weights, counted through the whole tensor. The
/// code is that of the nearest codebook value; halfway between two values it is the lower one, as in the package on a CPU
/// (0.50).
/// scales: `single`, or `nested` for double quantization. activations: `block` or `none`. Source: Dettmers et al. 2023
/// (QLoRA).
CodedFormat nf4_format(ScaleLayout scales, ActivationScale activations = ActivationScale::block);
CodedFormat fp4_format(ScaleLayout scales, ActivationScale activations = ActivationScale::block);

}  // namespace lathe::kernels
