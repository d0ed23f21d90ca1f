// SPDX-License-Identifier: Apache-2.0
// Compares every operation of a backend with the scalar reference, and its speed with the machine's measured ceilings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Of the backend's device, on a CPU with the backend's own threads.
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
