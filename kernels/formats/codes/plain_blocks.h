// SPDX-License-Identifier: Apache-2.0
// Blocks that belong to no file format: what codes that lie otherwise in files are brought into before they are packed.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// A scale in f32, then a byte a code.
const StoredBlocks& plain_blocks();
/// A scale and a zero point, or a minimum, in f32, then a byte a code.
const StoredBlocks& plain_blocks_with_zeros();

}  // namespace lathe::kernels
