// SPDX-License-Identifier: Apache-2.0
#include "engine/run/open_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <system_error>

namespace lathe::engine {

Result<std::unique_ptr<kernels::Backend>> open_backend(std::string_view isa, std::int64_t n_threads) {
  try {
    if (auto backend = kernels::make_cpu_backend({.n_threads = static_cast<int>(n_threads), .isa = std::string(isa)})) {
      return backend;
    }
  } catch (const std::system_error& error) {
    const std::string asked = n_threads > 0 ? fmt::format("{} threads", n_threads) : "one thread a physical core";
    return fail(
        ErrorCode::resource_exhausted,
        fmt::format("this process cannot have {}: {}; ask for fewer, or raise its limits", asked, error.code().message()),
        "threads");
  }
  const char* forced = std::getenv("LATHE_ISA");
  return fail(ErrorCode::invalid_argument,
              fmt::format("isa '{:.32}' is not there, this machine has: {}", isa.empty() && forced != nullptr ? forced : isa,
                          fmt::join(kernels::cpu_isas(), ", ")),
              "isa");
}

}  // namespace lathe::engine
