// SPDX-License-Identifier: Apache-2.0
// ALiBi: each head adds a slope times the distance to its scores, in place of positions. Source: Press et al. 2022.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe::engine {

/// Shapes: [n_heads]. If n_heads is no power of two, the heads beyond the largest power below it take every second slope of
/// the next power.
std::vector<float> alibi_slopes(std::int64_t n_heads, double max_bias);

}  // namespace lathe::engine
