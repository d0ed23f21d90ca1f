// SPDX-License-Identifier: Apache-2.0
#include "app/api/returned_memory.h"

#include <algorithm>
#include <optional>

#include "engine/api/machine.h"

namespace lathe::app {

std::int64_t returned_bytes(const engine::LoadedModel& running, const std::string& device) {
  constexpr std::int64_t kStep = 16 << 20;
  if (!engine::is_same_device(running.options.device, device)) return 0;
  const std::int64_t buffers = running.memory.total();
  if (!engine::is_same_device(device, "cpu")) {
    const auto& division = running.division;
    return division ? std::max(buffers, division->model + division->steps + division->kv) : buffers;
  }
  const std::optional<std::int64_t> now = running.measured ? engine::process_memory_bytes() : std::nullopt;
  return now ? std::clamp<std::int64_t>((*now - running.measured->before) / kStep * kStep, 0, buffers) : buffers;
}

}  // namespace lathe::app
