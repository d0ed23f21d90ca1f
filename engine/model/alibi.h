// SPDX-License-Identifier: Apache-2.0
// ALiBi: a slope for each head, times the distance, in place of positions. Source: Press et al. 2022.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe::engine {

/// [n_heads]. Where n_heads is no power of two, the heads beyond the last one take every second slope of the next power.
std::vector<float> alibi_slopes(std::int64_t n_heads, double max_bias);

}  // namespace lathe::engine
