// SPDX-License-Identifier: Apache-2.0
// Compares every operation of a backend with the scalar reference, and its speed with the machine's measured ceilings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Units: GB/s and GFLOP/s, all threads together, measured now.
struct Ceilings {
  double read_gb_s = 0;     ///< DRAM read
  double fma_gflop_s = 0;   ///< f32 FMA of the widest vectors of the ISA
  double bf16_gflop_s = 0;  ///< bf16 dot products; 0 where there is no instruction
  double int8_gop_s = 0;    ///< codes of 8 bits times bytes, as the ISA's kernels multiply them
  double int4_gop_s = 0;    ///< codes of 4 bits times bytes
};
Ceilings measure_ceilings(Backend& backend);

struct OpCheck {
  std::string op;        ///< "linear bf16 m=1 n=4864 k=896"
  double max_error = 0;  ///< relative to the largest magnitude of the reference
  double tolerance = 0;
  double seconds = 0;
  double share = 0;   ///< of the ceiling that bounds this op; 0 where no ceiling applies
  std::string bound;  ///< "read", "fma", "bf16", "int8", "int4" or empty
  bool passed() const { return max_error <= tolerance; }
};
/// Calls `report` after each check. Returns all of them.
std::vector<OpCheck> run_selftest(Backend& backend, const Ceilings& ceilings,
                                  const std::function<void(const OpCheck&)>& report);

}  // namespace lathe::kernels
