// SPDX-License-Identifier: Apache-2.0
// PlaceGuard: the place of a request among the unfinished ones, while it is checked and handed over.
#pragma once

#include <atomic>
#include <cstdint>

namespace lathe::engine {

/// Holds one of the slots for unfinished requests; the destructor frees it unless the request was handed over (is_kept).
struct PlaceGuard {
  std::atomic<std::int64_t>& n_unfinished;
  bool is_kept = false;
  ~PlaceGuard() {
    if (!is_kept) n_unfinished.fetch_sub(1);
  }
};

}  // namespace lathe::engine
