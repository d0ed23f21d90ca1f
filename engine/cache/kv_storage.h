// SPDX-License-Identifier: Apache-2.0
// KvStorage: the memory of the paged KV cache of all layers. Which block holds what is the business of the block pool.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Owns: one buffer a layer. Thread: the engine's.
class KvStorage {
 public:
  /// Errors: resource_exhausted when a layer does not fit.
  static Result<KvStorage> allocate(kernels::Backend& backend, const kernels::KvShape& shape);
  /// Units: bytes that allocate() takes for that shape.
  static std::int64_t n_bytes(const kernels::Backend& backend, const kernels::KvShape& shape);

  const kernels::KvShape& shape() const { return shape_; }
  /// Units: bytes.
  std::int64_t n_bytes() const;
  /// Units: bytes whose pages lie in memory; nothing when the system does not say.
  std::optional<std::int64_t> resident_bytes() const;
  kernels::KvLayer layer(std::int64_t i) const { return {layers_[static_cast<std::size_t>(i)].data(), shape_}; }

 private:
  kernels::KvShape shape_;
  std::vector<kernels::Buffer> layers_;
};

}  // namespace lathe::engine
