// SPDX-License-Identifier: Apache-2.0
#include "engine/model/alibi.h"

#include <bit>
#include <cmath>

namespace lathe::engine {

std::vector<float> alibi_slopes(std::int64_t n_heads, double max_bias) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n_heads)));
  const auto slope = [&](std::int64_t step, std::int64_t n_steps) {
    return static_cast<float>(std::exp2(-max_bias * static_cast<double>(step) / static_cast<double>(n_steps)));
  };
  std::vector<float> slopes;
  for (std::int64_t head = 0; head < power; ++head) slopes.push_back(slope(head + 1, power));
  for (std::int64_t head = power; head < n_heads; ++head) slopes.push_back(slope(2 * (head - power) + 1, 2 * power));
  return slopes;
}

}  // namespace lathe::engine
