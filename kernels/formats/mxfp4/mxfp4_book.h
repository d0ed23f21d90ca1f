// SPDX-License-Identifier: Apache-2.0
// Codebook of MXFP4: the sixteen values of its codes.
#pragma once

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// Number of consecutive weights that share a scale.
[[maybe_unused]] constexpr int kMxBlock = 32;

/// One sign bit, two exponent bits and one fraction bit. Kernels multiply kValues * kSteps, which are integers: nothing is
/// rounded.
struct Mxfp4Book {
  static constexpr float kValues[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                        -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
  static constexpr int kSteps = 2;
};

}  // namespace
}  // namespace lathe::kernels
