// SPDX-License-Identifier: Apache-2.0
// Finds the rows of the RoPE tables by which the rows of a step are rotated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/batch_plan.h"

namespace lathe::engine {

/// rows [M]: row of RopeTable for each row's position and its sequence's choice. If there is one context, rows are the
/// positions. Requires: if there are more, a choice for each sequence, and positions within the chosen context, except for
/// padding, whose results are not read.
void find_rope_rows(const BatchPlan& plan, std::span<const std::int64_t> contexts, std::vector<std::int32_t>& rows);

}  // namespace lathe::engine
