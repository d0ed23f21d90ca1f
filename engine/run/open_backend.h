// SPDX-License-Identifier: Apache-2.0
// Opens the backend that the options name.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "engine/api/options.h"
#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

struct BackendChoice {
  std::string_view device = "cpu";  ///< or "cuda"
  std::string_view isa{};           ///< of the CPU; empty: the one that LATHE_ISA forces, else the best
  std::int64_t n_threads = 0;       ///< 0: one a physical core
};
inline BackendChoice backend_choice(const EngineOptions& options) {
  return {.device = options.device, .isa = options.isa, .n_threads = options.threads};
}

/// Errors: invalid_argument when this machine lacks the instruction set, with those that it has, or the device, with what is
/// missing, and for an instruction set of a device that has none; resource_exhausted when the system does not give that many
/// threads.
Result<std::unique_ptr<kernels::Backend>> open_backend(const BackendChoice& choice);

/// Units: bytes that weights, cache and work memory may still take: of the device, or of the host where it is that memory.
std::optional<std::int64_t> free_bytes_of(const kernels::Backend& backend);

}  // namespace lathe::engine
