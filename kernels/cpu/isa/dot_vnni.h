// SPDX-License-Identifier: Apache-2.0
// VnniDot: four products of bytes and their sum in one instruction. Only for files compiled for AVX-512 VNNI.
#pragma once

#include "kernels/cpu/isa/vec_avx512.h"
#include "kernels/cpu/ops/dot.h"

// Where the header is compiled alone, without the instruction set, nobody calls these functions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

struct VnniDot : ByteQuads<VecAvx512> {
  static constexpr int kPairsToFold = 0;
  /// In the register where acc lies, as VecAvx512::accumulate.
  static void add(Int& acc, Int w, Int x) { asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x)); }
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
