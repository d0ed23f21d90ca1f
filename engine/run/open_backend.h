// SPDX-License-Identifier: Apache-2.0
// Opens the backend that the options name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "engine/api/options.h"
#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

struct BackendChoice {
  std::string_view device = "cpu";  ///< a value of the option `device`
  std::string_view isa{};           ///< instruction set of the CPU; empty: the one that LATHE_ISA forces, else the best
  std::int64_t n_threads = 0;       ///< 0: one for each physical core
};
inline BackendChoice backend_choice(const EngineOptions& options) {
  return {.device = options.device, .isa = options.isa, .n_threads = options.threads};
}

/// A kind of devices.
struct Device {
  std::string_view name;
  Result<std::unique_ptr<kernels::Backend>> (*open)(const BackendChoice& choice, int index);
  bool is_numbered = false;  ///< there may be many: "cuda:1" is the second one, "cuda" the first
};
/// THE TABLE of devices, the default first.
std::span<const Device> devices();

/// A value of the option `device`.
struct NamedDevice {
  const Device* device;
  int index;
};
/// The device that the value names: "cpu", "cuda", "cuda:1". nullopt: none.
std::optional<NamedDevice> find_device(std::string_view value);
/// True for the values with a number.
bool is_numbered_device(std::string_view value);
/// True if the device has memory of its own.
bool has_own_memory(std::string_view device);

/// Errors: invalid_argument if this machine lacks the instruction set (the message names those that it has) or the device
/// (the message names what is missing), or if a device without instruction sets is given one; resource_exhausted if the
/// system does not give that many threads.
Result<std::unique_ptr<kernels::Backend>> open_backend(const BackendChoice& choice);

/// Units: bytes still free for weights, cache and work memory: of the device, or of the host if the device has no memory of
/// its own.
std::optional<std::int64_t> free_bytes_of(const kernels::Backend& backend);

}  // namespace lathe::engine
