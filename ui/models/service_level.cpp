// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/service_level.h"

namespace lathe::ui {
namespace {

constexpr double kEnough = 0.95;

}  // namespace

bool meets_goal(const app::CellResult& cell) {
  if (!cell.error.empty() || cell.samples.empty()) return false;
  const double all = cell.estimate_of(app::metric_index("request_s")).mean;
  return all > 0 && cell.estimate_of(app::metric_index("goodput_req_s")).mean >= kEnough * all;
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

}  // namespace lathe::ui
