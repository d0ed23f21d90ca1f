// SPDX-License-Identifier: Apache-2.0
// AvxVnniDot: VnniDot on 8 columns, for processors without AVX-512 (Intel's from Alder Lake on). Only for files compiled for
// AVX-VNNI.
#pragma once

#include "kernels/cpu/isa/vec_avx2.h"
#include "kernels/cpu/ops/dot.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

struct AvxVnniDot : ByteQuads<VecAvx2> {
  static constexpr int kPairsToFold = 0;
  /// Adds in the register of acc, as VecAvx2::accumulate() does. Without {vex} the mnemonic would mean the AVX-512
  /// instruction.
  static void add(Int& acc, Int w, Int x) { asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(w), "x"(x)); }
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
