// SPDX-License-Identifier: GPL-3.0-or-later
// Service level: the cells of a sweep that keep it, and the best of them.
#pragma once

#include <optional>

#include "app/api/sweeper.h"

namespace lathe::ui {

inline bool has_goal(const app::ServiceGoal& goal) { return goal.ttft_ms > 0 || goal.itl_ms > 0; }

/// True if 95 of 100 requests are within the goal.
bool meets_goal(const app::CellResult& cell);

struct BestCell {
  std::size_t cell = 0;
  double output_tok_s = 0;
  std::size_t n_meeting = 0, n_measured = 0;
};
/// The cell with the most tok/s among those that keep the goal; empty: no cell does.
std::optional<BestCell> best_under_goal(const app::SweepStatus& status);

struct MostAtATime {
  std::size_t cell = 0;
  std::int64_t concurrency = 0;
};
/// The cell with the most concurrent requests among those that keep the goal; empty: no cell does, or no cell has a fixed
/// concurrency.
std::optional<MostAtATime> most_at_a_time(const app::SweepStatus& status);

struct MostASecond {
  std::size_t cell = 0;
  double max_rate = 0;  ///< requests per second
};
/// The cell whose search found the highest rate; empty: no search found one.
std::optional<MostASecond> most_a_second(const app::SweepStatus& status);

}  // namespace lathe::ui
