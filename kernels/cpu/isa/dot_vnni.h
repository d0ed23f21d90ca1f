// SPDX-License-Identifier: Apache-2.0
// VnniDot: four products of bytes and their sum in one instruction. Only for files compiled for AVX-512 VNNI.
#pragma once

#include "kernels/cpu/isa/vec_avx512.h"
#include "kernels/cpu/ops/dot.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

struct VnniDot : ByteQuads<VecAvx512> {
  static constexpr int kPairsToFold = 0;
  /// Adds in the register of acc, as VecAvx512::accumulate() does.
  static void add(Int& acc, Int w, Int x) { asm("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x)); }
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
