// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/layer_buffers.h"

#include "engine/base/resident_memory.h"

namespace lathe::engine {

std::int64_t bytes_of(std::span<const kernels::Buffer> layers) {
  std::int64_t sum = 0;
  for (const kernels::Buffer& layer : layers) sum += static_cast<std::int64_t>(layer.n_bytes());
  return sum;
}

std::optional<std::int64_t> resident_bytes_of(std::span<const kernels::Buffer> layers) {
  std::int64_t sum = 0;
  for (const kernels::Buffer& layer : layers) {
    if (!layer) continue;
    const auto n_bytes = resident_bytes({static_cast<const std::byte*>(layer.data()), layer.n_bytes()});
    if (!n_bytes) return std::nullopt;
    sum += *n_bytes;
  }
  return sum;
}

}  // namespace lathe::engine
