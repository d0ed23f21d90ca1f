// SPDX-License-Identifier: Apache-2.0
#include "engine/run/open_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <system_error>

#include "engine/base/free_memory.h"

namespace lathe::engine {

namespace {

Result<std::unique_ptr<kernels::Backend>> open_cpu(std::string_view isa, std::int64_t n_threads) {
  if (auto backend = kernels::make_cpu_backend({.n_threads = static_cast<int>(n_threads), .isa = std::string(isa)})) {
    return backend;
  }
  const char* forced = std::getenv("LATHE_ISA");
  return fail(ErrorCode::invalid_argument,
              fmt::format("isa '{:.32}' is not available; this machine has: {}",
                          isa.empty() && forced != nullptr ? forced : isa, fmt::join(kernels::cpu_isas(), ", ")),
              "isa");
}

Result<std::unique_ptr<kernels::Backend>> open_cuda(std::string_view isa, std::int64_t n_threads) {
  if (!isa.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("isa '{:.32}' applies only to device cpu; leave it empty for device cuda", isa), "isa");
  }
  kernels::LoadedBackend loaded = kernels::load_cuda_backend(static_cast<int>(n_threads));
  if (loaded.backend) return std::move(loaded.backend);
  return fail(ErrorCode::invalid_argument, "device cuda is not available: " + loaded.why_not, "device");
}

constexpr std::array kDevices = {Device{"cpu", open_cpu}, Device{"cuda", open_cuda}};

std::string known_devices() {
  std::string names;
  for (const Device& device : kDevices) names += (names.empty() ? "" : ", ") + std::string(device.name);
  return names;
}

}  // namespace

std::span<const Device> devices() { return kDevices; }

Result<std::unique_ptr<kernels::Backend>> open_backend(const BackendChoice& choice) {
  try {
    for (const Device& device : kDevices) {
      if (device.name == choice.device) return device.open(choice.isa, choice.n_threads);
    }
  } catch (const std::system_error& error) {
    const std::string asked =
        choice.n_threads > 0 ? fmt::format("{} threads", choice.n_threads) : "one thread per physical core";
    return fail(ErrorCode::resource_exhausted,
                fmt::format("this process cannot start {}: {}; request fewer threads, or raise its limits", asked,
                            error.code().message()),
                "threads");
  }
  return fail(ErrorCode::invalid_argument, fmt::format("device '{:.32}' is not one of {}", choice.device, known_devices()),
              "device");
}

std::optional<std::int64_t> free_bytes_of(const kernels::Backend& backend) {
  const std::optional<std::int64_t> own = backend.free_bytes();
  return own ? own : free_memory_bytes();
}

}  // namespace lathe::engine
