// SPDX-License-Identifier: Apache-2.0
// Which rows of the tables of RoPE the rows of a step are turned by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/batch_plan.h"

namespace lathe::engine {

/// rows [M]: position and choice of each row as RopeTable has them. Where there is one context, those are the positions.
/// Requires: where there are more, a choice for each sequence; positions within the context that it chose, but for padding,
/// whose results nobody reads.
void find_rope_rows(const BatchPlan& plan, std::span<const std::int64_t> contexts, std::vector<std::int32_t>& rows);

}  // namespace lathe::engine
