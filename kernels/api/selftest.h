// SPDX-License-Identifier: Apache-2.0
// Self-test: compares every operation of a backend with the scalar reference, and its speed with the measured ceilings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Measures the ceilings of the backend's device, on a CPU with the backend's own threads.
Ceilings measure_ceilings(Backend& backend);

struct OpCheck {
  std::string op;        ///< "linear bf16 m=1 n=4864 k=896"
  double max_error = 0;  ///< relative to the largest magnitude of the reference
  double tolerance = 0;
  double seconds = 0;
  double share = 0;   ///< fraction reached of the ceiling that bounds this op; 0: no ceiling applies
  std::string bound;  ///< "read", "fma", "bf16", "int8", "int4" or empty
  bool passed() const { return max_error <= tolerance; }
};
/// Runs all checks, calls `report` after each, and returns all of them. A check whose operation could not be done fails,
/// with the reason behind its name. Where `ceilings` are 0, no time is compared with them and most operations run only once.
/// Errors: throws std::bad_alloc if the backend has no memory for the operands.
std::vector<OpCheck> run_selftest(Backend& backend, const Ceilings& ceilings,
                                  const std::function<void(const OpCheck&)>& report);

}  // namespace lathe::kernels
