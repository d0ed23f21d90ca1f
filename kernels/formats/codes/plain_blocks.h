// SPDX-License-Identifier: Apache-2.0
// StoredBlocks of no file format: codes in other file layouts are converted to them before they are packed.
#pragma once

#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// Layout of a group: a scale in f32, then one byte per code.
const StoredBlocks& plain_blocks();
/// Layout of a group: a scale and a zero point or minimum, both in f32, then one byte per code.
const StoredBlocks& plain_blocks_with_zeros();

}  // namespace lathe::kernels
