// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/top_k_ids.h"

#include <algorithm>
#include <limits>

namespace lathe::engine {

void top_k_ids(std::span<const float> values, std::size_t k, std::vector<std::int32_t>& ids) {
  ids.clear();
  if (k == 0) return;
  const auto better = [&](std::int32_t a, std::int32_t b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  };
  // Ordering by `better` keeps the worst of the kept ids at the front of the heap.
  float bar = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > bar)) continue;  // an equal value has a higher id than all that are kept
    if (ids.size() == k) {
      std::pop_heap(ids.begin(), ids.end(), better);
      ids.pop_back();
    }
    ids.push_back(static_cast<std::int32_t>(i));
    std::push_heap(ids.begin(), ids.end(), better);
    if (ids.size() == k) bar = values[ids.front()];
  }
  std::sort_heap(ids.begin(), ids.end(), better);
}

}  // namespace lathe::engine
