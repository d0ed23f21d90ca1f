// SPDX-License-Identifier: Apache-2.0
// run_stages(): runs several kinds of work as one job of the pool, so that threads synchronize once, at its end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

/// Runs stage.run(item, thread) for all items [0, stage.n_items()) of all stages, begun in order: stage after stage, item
/// after item. A stage that reads results of an earlier one waits for them itself (RowProgress).
template <class... Stages>
void run_stages(ThreadPool& pool, const Stages&... stages) {
  const auto take = [](const auto& stage, std::int64_t& item, int thread) {
    if (item < stage.n_items()) {
      stage.run(item, thread);
      return true;
    }
    item -= stage.n_items();
    return false;
  };
  const std::int64_t n = (stages.n_items() + ...);
  // If no stage has two items, there is nothing to share among threads.
  const std::int64_t widest = std::max({stages.n_items()...});
  pool.run(n, widest > 1 ? 1 : n, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t item = i;
      (void)(take(stages, item, thread) || ...);
    }
  });
}

}  // namespace lathe::kernels
