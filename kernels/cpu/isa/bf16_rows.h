// SPDX-License-Identifier: Apache-2.0
// Rows of x as pairs of bf16. Only for files compiled for AVX-512 BF16.
#pragma once

#include "kernels/cpu/isa/vec_avx512.h"
#include "kernels/cpu/ops/math.h"

// Where the header is compiled alone, without the instruction set, nobody calls these functions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

/// Up to 32 numbers of x [n] as pairs of bf16, filled up with 0. A vector at a time: number after number it was 6.5 % of a
/// prompt of 512 (Zen 4).
inline __m512i rounded_pairs(const float* x, std::int64_t n) {
  using V = VecAvx512;
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(V::load_n(x + V::kLanes, n - V::kLanes), V::load_n(x, n)));
}

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
