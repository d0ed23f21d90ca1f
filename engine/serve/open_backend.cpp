// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/open_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::engine {

Result<std::unique_ptr<kernels::Backend>> open_backend(const std::string& isa, std::int64_t n_threads) {
  auto backend = kernels::make_cpu_backend({.n_threads = static_cast<int>(n_threads), .isa = isa});
  if (backend == nullptr) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("isa '{:.32}' is not there, this machine has: {}", isa, fmt::join(kernels::cpu_isas(), ", ")),
                "isa");
  }
  return backend;
}

}  // namespace lathe::engine
