// SPDX-License-Identifier: Apache-2.0
// Token ids that are easy to tell apart.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace lathe::tests {

/// n ids, rising by one.
inline std::vector<std::int32_t> count_from(std::int32_t first, int n) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

}  // namespace lathe::tests
