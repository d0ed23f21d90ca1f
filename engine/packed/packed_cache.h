// SPDX-License-Identifier: Apache-2.0
// PackedCache: packed weights on disk, one entry per key; the least recently used entry is removed first.
#pragma once

#include <string>

#include "engine/api/packed_cache.h"
#include "engine/packed/packed_entry.h"

namespace lathe::engine {

/// Entries are written to a temporary file and renamed, so that a reader finds a whole entry or none; two writers of one key
/// write the same bytes. Nothing is synced: hashes detect damage after a crash. Thread, process: any.
class PackedCache {
 public:
  explicit PackedCache(PackedCacheFolder folder) : folder_(std::move(folder)) {}

  /// Fills the image from the entry; false: no entry. Errors: cancelled; model_refused when the entry is damaged: then it is
  /// removed and the image is set to zeros, as when new.
  Result<bool> load(const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                    const PackedObserver& observer) const;
  /// Removes old entries for space, then writes the entry. Errors: cancelled; resource_exhausted when the entry does not
  /// fit, or with the system's text. A failure leaves no file.
  Result<void> store(const ContentHash& key, const WeightImage& image, kernels::Backend& backend,
                     const PackedObserver& observer) const;

 private:
  std::string path_of(const ContentHash& key) const;
  Result<void> make_room(std::int64_t n_bytes) const;
  void remove_leftovers() const;

  PackedCacheFolder folder_;
};

}  // namespace lathe::engine
