// SPDX-License-Identifier: Apache-2.0
// Ceilings: what a device can do at most.
#pragma once

namespace lathe::kernels {

/// Units: GB/s and GFLOP/s, the whole device together, measured now; 0 where it has no such instruction.
struct Ceilings {
  double read_gb_s = 0;     ///< of memory
  double fma_gflop_s = 0;   ///< f32 FMA, on a CPU of the widest vectors of the ISA
  double bf16_gflop_s = 0;  ///< bf16 dot products
  double int8_gop_s = 0;    ///< codes of 8 bits times bytes
  double int4_gop_s = 0;    ///< codes of 4 bits times bytes
  /// Weights in codes become bf16 before they are multiplied: that is their ceiling too.
  bool multiplies_codes_in_bf16 = false;
};

}  // namespace lathe::kernels
