// SPDX-License-Identifier: Apache-2.0
// contains(): whether a list has a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace lathe::engine {

inline bool contains(std::span<const std::int32_t> ids, std::int32_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace lathe::engine
