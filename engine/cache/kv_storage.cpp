// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/kv_storage.h"

#include <fmt/format.h>

#include <limits>

#include "engine/base/checked_math.h"
#include "engine/base/resident_memory.h"

namespace lathe::engine {

Result<KvStorage> KvStorage::allocate(kernels::Backend& backend, const kernels::KvShape& shape) {
  KvStorage storage;
  storage.shape_ = shape;
  const std::size_t layer_bytes = backend.kv_layer_bytes(shape);
  for (int i = 0; i < shape.n_layers; ++i) {
    kernels::Buffer layer = backend.allocate(layer_bytes);
    if (!layer) {
      return fail(ErrorCode::resource_exhausted,
                  fmt::format("no memory for the KV cache: {} bytes a layer, {} layers; lower max_model_len or max_num_seqs",
                              layer_bytes, shape.n_layers),
                  "kv cache");
    }
    storage.layers_.push_back(std::move(layer));
  }
  return storage;
}

std::int64_t KvStorage::n_bytes(const kernels::Backend& backend, const kernels::KvShape& shape) {
  const auto bytes = checked_product({static_cast<std::int64_t>(backend.kv_layer_bytes(shape)), shape.n_layers});
  return bytes.value_or(std::numeric_limits<std::int64_t>::max());
}

std::int64_t KvStorage::n_bytes() const {
  std::int64_t sum = 0;
  for (const kernels::Buffer& layer : layers_) sum += static_cast<std::int64_t>(layer.n_bytes());
  return sum;
}

std::optional<std::int64_t> KvStorage::resident_bytes() const {
  std::int64_t sum = 0;
  for (const kernels::Buffer& layer : layers_) {
    const auto n_bytes = engine::resident_bytes({static_cast<const std::byte*>(layer.data()), layer.n_bytes()});
    if (!n_bytes) return std::nullopt;
    sum += *n_bytes;
  }
  return sum;
}

}  // namespace lathe::engine
