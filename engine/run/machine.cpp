// SPDX-License-Identifier: Apache-2.0
#include "engine/api/machine.h"

#include <cstdlib>

#include "engine/run/measured.h"
#include "engine/run/open_backend.h"

namespace lathe::engine {

std::vector<std::string> machine_isas() {
  const char* forced = std::getenv("LATHE_ISA");
  if (forced != nullptr && *forced != '\0') return {forced};
  return kernels::cpu_isas();
}

Result<MachineReport> measure_machine(const MachineChoice& choice) {
  LATHE_TRY(const auto backend, open_backend({choice.device, choice.isa, choice.n_threads}));
  return MachineReport{backend->info(), kernels::measure_ceilings(*backend)};
}

Result<IsaSelftest> selftest_machine(const MachineChoice& choice,
                                     const std::function<void(const kernels::OpCheck&)>& report) {
  LATHE_TRY(const auto backend, open_backend({choice.device, choice.isa, choice.n_threads}));
  IsaSelftest result{{backend->info(), kernels::measure_ceilings(*backend)}, {}};
  LATHE_TRY_VOID(
      measured(*backend, [&] { result.checks = kernels::run_selftest(*backend, result.machine.ceilings, report); }));
  return result;
}

}  // namespace lathe::engine
