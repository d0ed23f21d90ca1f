// SPDX-License-Identifier: GPL-3.0-or-later
// Which cells of a sweep keep the service level, and the fastest of them.
#pragma once

#include <optional>

#include "app/api/sweeper.h"

namespace lathe::ui {

inline bool has_goal(const app::ServiceGoal& goal) { return goal.ttft_ms > 0 || goal.itl_ms > 0; }

/// 95 of 100 requests are within the goal.
bool meets_goal(const app::CellResult& cell);

struct BestCell {
  std::size_t cell = 0;
  double output_tok_s = 0;
  std::size_t n_meeting = 0, n_measured = 0;
};
/// The one with most tok/s among those that meet it; none does: empty.
std::optional<BestCell> best_under_goal(const app::SweepStatus& status);

struct MostAtATime {
  std::size_t cell = 0;
  std::int64_t concurrency = 0;
};
/// The cell with most requests at a time among those that keep the level; none does, or no cell sends so many: empty.
std::optional<MostAtATime> most_at_a_time(const app::SweepStatus& status);

struct MostASecond {
  std::size_t cell = 0;
  double max_rate = 0;  ///< requests
};
/// The cell whose search found the highest rate; none did: empty.
std::optional<MostASecond> most_a_second(const app::SweepStatus& status);

}  // namespace lathe::ui
