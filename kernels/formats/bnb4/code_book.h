// SPDX-License-Identifier: Apache-2.0
// NF4 and FP4: the codebooks of sixteen values, and the integers that kernels multiply instead.
#pragma once

#include <cstdint>

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// kValues, indexed by code, as in the bitsandbytes package. Kernels multiply round(value * kSteps) + 128. kSteps is the
/// integer of at most 127 with the smallest mean error: NF4 is off by 0.0017 of the largest weight (root mean square; 127
/// steps: 0.0022), FP4 only in its smallest value, by 0.003.
struct Nf4Book {
  static constexpr float kValues[16] = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};
  static constexpr int kSteps = 112;
};

/// One sign bit, two exponent bits and one fraction bit.
struct Fp4Book {
  static constexpr float kValues[16] = {0.0F,       0.0625F / 12, 8.0F / 12,  1.0F,          4.0F / 12,  6.0F / 12,
                                        2.0F / 12,  3.0F / 12,    0.0F,       -0.0625F / 12, -8.0F / 12, -1.0F,
                                        -4.0F / 12, -6.0F / 12,   -2.0F / 12, -3.0F / 12};
  static constexpr int kSteps = 120;
};

/// Integers that a kernel multiplies, indexed by code, with 128 added.
template <class Book>
struct WholeBook {
  std::uint8_t codes[16];
  constexpr WholeBook() : codes() {
    for (int i = 0; i < 16; ++i) {
      const float steps = Book::kValues[i] * Book::kSteps;
      codes[i] = static_cast<std::uint8_t>(128 + static_cast<int>(steps + (steps < 0 ? -0.5F : 0.5F)));
    }
  }
};

}  // namespace
}  // namespace lathe::kernels
