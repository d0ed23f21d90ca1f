// SPDX-License-Identifier: Apache-2.0
// Blocks of GGUF files that hold what the grouped formats hold: nothing is rounded when they are packed.
// Source: ggml, ggml-quants.c.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// 32 codes of 8 bits behind their scale. The files' lowest code, -128, is none of int8_g32's own, but read as it is.
const StoredBlocks& q8_0_blocks();
/// 32 codes of 4 bits behind their scale: the first 16 in the low halves of bytes, the others in the high ones.
const StoredBlocks& q4_0_blocks();

}  // namespace lathe::kernels
