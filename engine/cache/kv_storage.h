// SPDX-License-Identifier: Apache-2.0
// KvStorage: the memory of the paged KV cache of all layers. The block pool manages the content of its blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/api/result.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Heads of K and V in one layer.
struct KvHeads {
  int n_kv_heads = 0, head_dim = 0;
};

/// Group of layers that keep no K and V.
inline constexpr int kNoKv = -1;

/// The layers of the cache, and how many blocks each has. A layer that uses the K and V of another has none.
struct KvLayers {
  kernels::KvShape shape;            ///< shape of every layer; n_blocks is that of the primary group
  std::vector<int> window_blocks{};  ///< blocks of a layer, for each window group (WindowGroup)
  /// [n_layers]: 0 for the primary group, 1 + index of the window group, or kNoKv; empty: all 0.
  std::vector<int> groups{};
  std::vector<KvHeads> heads{};  ///< [n_layers]; empty: those of `shape`
  std::vector<int> sources{};  ///< [n_layers]: layer whose K and V the layer uses, which may be itself; empty: each its own

  int source_of(std::int64_t layer) const {
    return sources.empty() ? static_cast<int>(layer) : sources[static_cast<std::size_t>(layer)];
  }
  int group_of(std::int64_t layer) const { return groups.empty() ? 0 : groups[static_cast<std::size_t>(layer)]; }
  /// True if the layer has K and V of its own.
  bool is_cached(std::int64_t layer) const { return group_of(layer) != kNoKv && source_of(layer) == layer; }
  kernels::KvShape shape_of(std::int64_t layer) const;
};

/// Owns: one buffer for each layer with K and V of its own. Thread: the engine's.
class KvStorage {
 public:
  /// Errors: resource_exhausted when a layer does not fit.
  static Result<KvStorage> allocate(kernels::Backend& backend, const KvLayers& layout);
  /// Units: bytes that allocate() takes for that layout.
  static std::int64_t n_bytes(const kernels::Backend& backend, const KvLayers& layout);

  /// Units: bytes.
  std::int64_t n_bytes() const;
  /// Units: bytes of pages that are resident; nullopt if the system does not report them.
  std::optional<std::int64_t> resident_bytes() const;
  /// The K and V that the layer reads; its own, or those of its source.
  kernels::KvLayer layer(std::int64_t i) const {
    const int source = layout_.source_of(i);
    return {layers_[static_cast<std::size_t>(source)].data(), layout_.shape_of(source)};
  }
  /// Group whose slots and block tables the layer uses: 0 for the primary group, 1 for the first window group, or kNoKv.
  int group_of(std::int64_t layer) const { return layout_.group_of(layer); }

 private:
  KvLayers layout_;
  std::vector<kernels::Buffer> layers_;
};

}  // namespace lathe::engine
