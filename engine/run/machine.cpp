// SPDX-License-Identifier: Apache-2.0
#include "engine/api/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace lathe::engine {
namespace {

Result<std::unique_ptr<kernels::Backend>> make_backend(std::string_view isa, int n_threads) {
  auto backend = kernels::make_cpu_backend({.n_threads = n_threads, .isa = isa});
  if (backend == nullptr) {
    const char* forced = std::getenv("LATHE_ISA");
    return fail(ErrorCode::invalid_argument,
                fmt::format("this machine does not run {}; it has {}", isa.empty() && forced != nullptr ? forced : isa,
                            fmt::join(kernels::cpu_isas(), ", ")),
                "isa");
  }
  return backend;
}

}  // namespace

std::vector<std::string> machine_isas() {
  const char* forced = std::getenv("LATHE_ISA");
  if (forced != nullptr && *forced != '\0') return {forced};
  return kernels::cpu_isas();
}

Result<MachineReport> measure_machine(std::string_view isa, int n_threads) {
  LATHE_TRY(const auto backend, make_backend(isa, n_threads));
  return MachineReport{backend->info(), kernels::measure_ceilings(*backend)};
}

Result<IsaSelftest> selftest_isa(std::string_view isa, int n_threads,
                                 const std::function<void(const kernels::OpCheck&)>& report) {
  LATHE_TRY(const auto backend, make_backend(isa, n_threads));
  IsaSelftest result{{backend->info(), kernels::measure_ceilings(*backend)}, {}};
  result.checks = kernels::run_selftest(*backend, result.machine.ceilings, report);
  return result;
}

}  // namespace lathe::engine
