// SPDX-License-Identifier: Apache-2.0
// Finds the k best elements of a row without sorting the row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe::engine {

/// Ids of the k highest values, best first, ties to the lower id. `-inf` never counts as a candidate.
/// Cost: one comparison for most elements, log k for the few that enter the heap.
void top_k_ids(std::span<const float> values, std::size_t k, std::vector<std::int32_t>& ids);

}  // namespace lathe::engine
