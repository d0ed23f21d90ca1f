// SPDX-License-Identifier: Apache-2.0
#include "engine/run/open_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <system_error>

#include "engine/base/free_memory.h"

namespace lathe::engine {

namespace {

Result<std::unique_ptr<kernels::Backend>> open_cpu(const BackendChoice& choice, int /*index*/) {
  if (auto backend =
          kernels::make_cpu_backend({.n_threads = static_cast<int>(choice.n_threads), .isa = std::string(choice.isa)})) {
    return backend;
  }
  const char* forced = std::getenv("LATHE_ISA");
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("isa '{:.32}' is not available; this machine has: {}",
                  choice.isa.empty() && forced != nullptr ? forced : choice.isa, fmt::join(kernels::cpu_isas(), ", ")),
      "isa");
}

Result<std::unique_ptr<kernels::Backend>> open_cuda(const BackendChoice& choice, int index) {
  if (!choice.isa.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("isa '{:.32}' applies only to device cpu; leave it empty for device {}", choice.isa, choice.device),
        "isa");
  }
  kernels::LoadedBackend loaded = kernels::load_cuda_backend(index, static_cast<int>(choice.n_threads));
  if (loaded.backend) return std::move(loaded.backend);
  return fail(ErrorCode::invalid_argument, fmt::format("device {} is not available: {}", choice.device, loaded.why_not),
              "device");
}

constexpr std::array kDevices = {Device{"cpu", open_cpu}, Device{"cuda", open_cuda, true}};

std::string known_devices() {
  std::string names;
  for (const Device& device : kDevices) {
    names += (names.empty() ? "" : ", ") + std::string(device.name);
    if (device.is_numbered) names += fmt::format(", {}:N", device.name);
  }
  return names;
}

}  // namespace

std::span<const Device> devices() { return kDevices; }

std::optional<NamedDevice> find_device(std::string_view value) {
  for (const Device& device : kDevices) {
    if (value == device.name) return NamedDevice{&device, 0};
    if (!device.is_numbered || !value.starts_with(device.name)) continue;
    const std::string_view rest = value.substr(device.name.size());
    int index = -1;
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), index);
    const bool is_number = rest.size() > 1 && rest[1] != '-' && error == std::errc() && end == rest.data() + rest.size();
    if (rest.front() == ':' && is_number) return NamedDevice{&device, index};
  }
  return std::nullopt;
}

bool is_numbered_device(std::string_view value) {
  const std::optional<NamedDevice> named = find_device(value);
  return named && value != named->device->name;
}

bool has_own_memory(std::string_view device) {
  const std::optional<NamedDevice> named = find_device(device);
  return named && named->device->is_numbered;
}

Result<std::unique_ptr<kernels::Backend>> open_backend(const BackendChoice& choice) {
  try {
    if (const std::optional<NamedDevice> named = find_device(choice.device))
      return named->device->open(choice, named->index);
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
