// SPDX-License-Identifier: Apache-2.0
// StoredBlocks of the GGUF types whose codes the grouped formats keep: nothing is rounded when they are packed.
// Source: ggml, ggml-quants.c.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A scale in f16, then 32 codes of 8 bits. The lowest code of files, -128, never comes from int8_g32's own rounding, but is
/// read as it is.
const StoredBlocks& q8_0_blocks();
/// A scale in f16, then 32 codes of 4 bits: the first 16 in the low nibbles of the bytes, the others in the high nibbles.
const StoredBlocks& q4_0_blocks();

}  // namespace lathe::kernels
