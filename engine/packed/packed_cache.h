// SPDX-License-Identifier: Apache-2.0
// PackedCache: packed weights on disk, an entry a key, the least recently used removed first.
#pragma once

#include <string>

#include "engine/api/packed_cache.h"
#include "engine/packed/packed_entry.h"

namespace lathe::engine {

/// Entries are written beside their place and renamed, so that a reader sees a whole one or none; two writers of one key
/// write the same. Nothing is synced: what a crash leaves is found out by its hashes. Thread, process: any.
class PackedCache {
 public:
  explicit PackedCache(PackedCacheFolder folder) : folder_(std::move(folder)) {}

  /// Fills the image; false: there is no such entry. Errors: cancelled; model_refused when the entry is damaged, and then
  /// it is removed and the image is as new: zeros.
  Result<bool> load(const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                    const PackedObserver& observer) const;
  /// Makes room, then writes. Errors: cancelled; resource_exhausted: no room, or the system's words. Nothing is left behind.
  Result<void> store(const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                     const PackedObserver& observer) const;

 private:
  std::string path_of(const ContentHash& key) const;
  Result<void> make_room(std::int64_t n_bytes) const;
  void remove_leftovers() const;

  PackedCacheFolder folder_;
};

}  // namespace lathe::engine
