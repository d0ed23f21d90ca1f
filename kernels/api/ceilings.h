// SPDX-License-Identifier: Apache-2.0
// Ceilings: measured peak rates of a device.
#pragma once

namespace lathe::kernels {

/// Units: GB/s and GFLOP/s of the whole device. 0: the device has no such instruction.
struct Ceilings {
  double read_gb_s = 0;     ///< reads from memory
  double fma_gflop_s = 0;   ///< f32 FMA, on a CPU with the widest vectors of the ISA
  double bf16_gflop_s = 0;  ///< bf16 dot products
  double int8_gop_s = 0;    ///< 8-bit codes times 8-bit activations
  double int4_gop_s = 0;    ///< 4-bit codes times 8-bit activations
  /// Coded weights are converted to bf16 before they are multiplied, so bf16_gflop_s is their ceiling.
  bool multiplies_codes_in_bf16 = false;
};

}  // namespace lathe::kernels
