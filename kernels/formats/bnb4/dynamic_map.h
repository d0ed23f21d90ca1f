// SPDX-License-Identifier: Apache-2.0
// dynamic_map(): the codebook of bitsandbytes' 8-bit codes.
#pragma once

namespace lathe::kernels {

/// 256 values from -0.993 to 1 in ascending order, denser towards zero.
/// Source: Dettmers 2016, "8-Bit Approximations for Parallelism in Deep Learning".
const float* dynamic_map();

}  // namespace lathe::kernels
