// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/service_level.h"

#include <algorithm>

namespace lathe::ui {
bool meets_goal(const app::CellResult& cell) {
  if (!cell.error.empty() || cell.samples.empty()) return false;
  const double all = cell.estimate_of(app::metric_index("request_s")).mean;
  return all > 0 && app::keeps_goal(cell.estimate_of(app::metric_index("goodput_req_s")).mean, all);
}

std::optional<BestCell> best_under_goal(const app::SweepStatus& status) {
  BestCell best;
  if (status.report == nullptr) return {};
  for (const auto& [index, cell] : status.report->cells) {
    if (cell.samples.empty() || !cell.error.empty()) continue;
    ++best.n_measured;
    if (!meets_goal(cell)) continue;
    ++best.n_meeting;
    const double rate = cell.estimate_of(app::metric_index("output_tok_s")).mean;
    if (rate > best.output_tok_s) {
      best.cell = index;
      best.output_tok_s = rate;
    }
  }
  if (best.n_meeting == 0) return {};
  return best;
}

std::optional<MostAtATime> most_at_a_time(const app::SweepStatus& status) {
  std::optional<MostAtATime> most;
  if (status.report == nullptr) return most;
  for (const auto& [index, result] : status.report->cells) {
    const auto cell = app::cell_of(*status.plan, index);
    if (!meets_goal(result) || !cell || cell->workload.pattern() != app::LoadPattern::concurrency) continue;
    if (!most || cell->workload.concurrency > most->concurrency) most = MostAtATime{index, cell->workload.concurrency};
  }
  return most;
}

std::optional<MostASecond> most_a_second(const app::SweepStatus& status) {
  std::optional<MostASecond> most;
  if (status.report == nullptr) return most;
  for (const auto& [index, result] : status.report->cells) {
    const app::Estimate rate = result.estimate_of(app::metric_index("max_rate"));
    if (!result.error.empty() || rate.n == 0) continue;
    if (!most || rate.mean > most->max_rate) most = MostASecond{index, rate.mean};
  }
  return most;
}

}  // namespace lathe::ui
