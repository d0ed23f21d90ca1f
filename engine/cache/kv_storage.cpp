// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/kv_storage.h"

#include <fmt/format.h>

#include <limits>

#include "engine/base/allocation_error.h"
#include "engine/cache/layer_buffers.h"

namespace lathe::engine {

kernels::KvShape KvLayers::shape_of(std::int64_t layer) const {
  kernels::KvShape of_layer = shape;
  const int group = group_of(layer);
  if (!heads.empty()) {
    of_layer.n_kv_heads = heads[static_cast<std::size_t>(layer)].n_kv_heads;
    of_layer.head_dim = heads[static_cast<std::size_t>(layer)].head_dim;
  }
  if (group > 0) of_layer.n_blocks = window_blocks[static_cast<std::size_t>(group - 1)];
  if (group == kNoKv) of_layer.n_blocks = 0;
  return of_layer;
}

Result<KvStorage> KvStorage::allocate(kernels::Backend& backend, const KvLayers& layout) {
  KvStorage storage;
  storage.layout_ = layout;
  for (int i = 0; i < layout.shape.n_layers; ++i) {
    if (!layout.is_cached(i)) {
      storage.layers_.emplace_back();
      continue;
    }
    const std::size_t layer_bytes = backend.kv_layer_bytes(layout.shape_of(i));
    kernels::Buffer layer = backend.allocate_on_device(layer_bytes);
    if (!layer) {
      return allocation_error(
          backend,
          fmt::format("not enough memory for the KV cache: {} bytes for layer {} of {}; lower max_model_len or max_num_seqs",
                      layer_bytes, i + 1, layout.shape.n_layers),
          "kv cache");
    }
    storage.layers_.push_back(std::move(layer));
  }
  return storage;
}

std::int64_t KvStorage::n_bytes(const kernels::Backend& backend, const KvLayers& layout) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t sum = 0;
  for (int i = 0; i < layout.shape.n_layers; ++i) {
    if (!layout.is_cached(i)) continue;
    const std::size_t bytes = backend.kv_layer_bytes(layout.shape_of(i));
    if (bytes > static_cast<std::size_t>(kMost - sum)) return kMost;
    sum += static_cast<std::int64_t>(bytes);
  }
  return sum;
}

std::int64_t KvStorage::n_bytes() const { return bytes_of(layers_); }

std::optional<std::int64_t> KvStorage::resident_bytes() const { return resident_bytes_of(layers_); }

}  // namespace lathe::engine
