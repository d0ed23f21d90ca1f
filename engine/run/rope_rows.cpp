// SPDX-License-Identifier: Apache-2.0
#include "engine/run/rope_rows.h"

#include <algorithm>
#include <numeric>

#include "kernels/api/check.h"

namespace lathe::engine {

void find_rope_rows(const BatchPlan& plan, std::span<const std::int64_t> contexts, std::vector<std::int32_t>& rows) {
  rows.assign(plan.positions.begin(), plan.positions.end());
  if (contexts.size() < 2) return;
  LATHE_CHECK(plan.rope_choices.size() == plan.context_len.size());
  for (std::size_t i = 0; i < plan.rope_choices.size(); ++i) {
    const auto choice = static_cast<std::size_t>(plan.rope_choices[i]);
    LATHE_CHECK(choice < contexts.size());
    const auto before = contexts.first(choice);
    const auto first = static_cast<std::int32_t>(std::accumulate(before.begin(), before.end(), std::int64_t{0}));
    const auto last = static_cast<std::int32_t>(contexts[choice] - 1);
    for (std::int32_t row = plan.query_start[i]; row < plan.query_start[i + 1]; ++row) {
      std::int32_t& position = rows[static_cast<std::size_t>(row)];
      position = first + std::min(position, last);
    }
  }
}

}  // namespace lathe::engine
