// SPDX-License-Identifier: Apache-2.0
// KvStorage: the memory of the paged KV cache of all layers. Which block holds what is the business of the block pool.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Which layers there are, and how many blocks each has.
struct KvLayers {
  kernels::KvShape shape;            ///< of every layer; its n_blocks are those of the first group
  std::vector<int> window_blocks{};  ///< of a layer of each window group (WindowGroup)
  std::vector<int> groups{};         ///< [n_layers]: 0, or 1 + the window group; none: all 0

  int group_of(std::int64_t layer) const { return groups.empty() ? 0 : groups[static_cast<std::size_t>(layer)]; }
  kernels::KvShape shape_of(std::int64_t layer) const;
};

/// Owns: one buffer a layer. Thread: the engine's.
class KvStorage {
 public:
  /// Errors: resource_exhausted when a layer does not fit.
  static Result<KvStorage> allocate(kernels::Backend& backend, const KvLayers& layout);
  /// Units: bytes that allocate() takes for that layout.
  static std::int64_t n_bytes(const kernels::Backend& backend, const KvLayers& layout);

  /// Units: bytes.
  std::int64_t n_bytes() const;
  /// Units: bytes whose pages lie in memory; nothing when the system does not say.
  std::optional<std::int64_t> resident_bytes() const;
  kernels::KvLayer layer(std::int64_t i) const { return {layers_[static_cast<std::size_t>(i)].data(), layout_.shape_of(i)}; }
  /// Of the layer's slots and block tables: 0 is the first group's, 1 that of the first window group.
  int group_of(std::int64_t layer) const { return layout_.group_of(layer); }

 private:
  KvLayers layout_;
  std::vector<kernels::Buffer> layers_;
};

}  // namespace lathe::engine
