// SPDX-License-Identifier: Apache-2.0
// MXFP4: the sixteen numbers that its codes stand for.
#pragma once

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// Weights of a row that share a scale.
[[maybe_unused]] constexpr int kMxBlock = 32;

/// A sign, two bits of exponent and one of fraction. Kernels multiply kValues * kSteps, which are whole: nothing is rounded.
struct Mxfp4Book {
  static constexpr float kValues[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                        -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
  static constexpr int kSteps = 2;
};

}  // namespace
}  // namespace lathe::kernels
