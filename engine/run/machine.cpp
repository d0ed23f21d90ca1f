// SPDX-License-Identifier: Apache-2.0
#include "engine/api/machine.h"

#include <cstdlib>

#include "engine/run/open_backend.h"

namespace lathe::engine {

std::vector<std::string> machine_isas() {
  const char* forced = std::getenv("LATHE_ISA");
  if (forced != nullptr && *forced != '\0') return {forced};
  return kernels::cpu_isas();
}

Result<MachineReport> measure_machine(std::string_view isa, int n_threads) {
  LATHE_TRY(const auto backend, open_backend(isa, n_threads));
  return MachineReport{backend->info(), kernels::measure_ceilings(*backend)};
}

Result<IsaSelftest> selftest_isa(std::string_view isa, int n_threads,
                                 const std::function<void(const kernels::OpCheck&)>& report) {
  LATHE_TRY(const auto backend, open_backend(isa, n_threads));
  IsaSelftest result{{backend->info(), kernels::measure_ceilings(*backend)}, {}};
  result.checks = kernels::run_selftest(*backend, result.machine.ceilings, report);
  return result;
}

}  // namespace lathe::engine
