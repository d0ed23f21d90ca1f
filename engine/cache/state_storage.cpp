// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/state_storage.h"

#include <fmt/format.h>

#include "engine/base/allocation_error.h"
#include "engine/cache/layer_buffers.h"

namespace lathe::engine {
namespace {

std::size_t state_layer_bytes(const kernels::Backend& backend, const StateLayers& layout, std::size_t layer) {
  const auto& shape = layout.shapes[layer];
  if (!shape) return 0;
  const kernels::RecurrentOperations* const ops = kernels::recurrent_operations(backend);
  LATHE_CHECK(ops != nullptr);
  return static_cast<std::size_t>(layout.n_slots) * ops->state_bytes(*shape);
}

}  // namespace

Result<StateStorage> StateStorage::allocate(kernels::Backend& backend, const StateLayers& layout) {
  StateStorage storage;
  storage.layout_ = layout;
  for (std::size_t i = 0; i < layout.shapes.size(); ++i) {
    const std::size_t n_bytes = state_layer_bytes(backend, layout, i);
    kernels::Buffer& layer = storage.layers_.emplace_back();
    if (n_bytes == 0) continue;
    layer = backend.allocate_on_device(n_bytes);
    if (layer) continue;
    return allocation_error(
        backend,
        fmt::format("not enough memory for the states of recurrent layers: {} bytes for layer {} of {} with {} slots; lower "
                    "max_num_seqs",
                    n_bytes, i + 1, layout.shapes.size(), layout.n_slots),
        "recurrent states");
  }
  return storage;
}

std::int64_t StateStorage::n_bytes(const kernels::Backend& backend, const StateLayers& layout) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < layout.shapes.size(); ++i) {
    sum += static_cast<std::int64_t>(state_layer_bytes(backend, layout, i));
  }
  return sum;
}

std::int64_t StateStorage::n_bytes() const { return bytes_of(layers_); }

std::optional<std::int64_t> StateStorage::resident_bytes() const { return resident_bytes_of(layers_); }

kernels::StateLayer StateStorage::layer(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  if (at >= layers_.size() || !layers_[at]) return {};
  return {.data = layers_[at].data(), .shape = *layout_.shapes[at], .n_slots = layout_.n_slots};
}

}  // namespace lathe::engine
