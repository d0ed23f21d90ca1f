// SPDX-License-Identifier: Apache-2.0
// The numbers that bitsandbytes' codes of 8 bits stand for.
#pragma once

namespace lathe::kernels {

/// 256 numbers from -0.993 to 1, ascending, denser towards zero.
/// Source: Dettmers 2016, "8-Bit Approximations for Parallelism in Deep Learning".
const float* dynamic_map();

}  // namespace lathe::kernels
