// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/service_strip.h"

#include <QLocale>
#include <algorithm>

#include "ui/models/service_level.h"
#include "ui/panels/bench/results/sweep_header.h"

namespace lathe::ui {
namespace {

QString goal_text(const app::ServiceGoal& goal) {
  QStringList words;
  if (goal.ttft_ms > 0) words << ServiceStrip::tr("TTFT < %1 ms").arg(goal.ttft_ms);
  if (goal.itl_ms > 0) words << ServiceStrip::tr("ITL < %1 ms").arg(goal.itl_ms);
  return words.join(QStringLiteral(", "));
}

}  // namespace

ServiceStrip::ServiceStrip(const Theme& theme, QWidget* parent)
    : FigureStrip(theme, QStringLiteral("bench.service"), tr("Meets your service level"), {"most", "rate", "cells"},
                  parent) {}

void ServiceStrip::show_sweep(const app::SweepStatus& status) {
  const bool has_one = status.plan != nullptr && has_goal(status.plan->goal);
  setVisible(has_one);
  if (!has_one) return;
  set_goal(goal_text(status.plan->goal), tr("A cell meets the service level if 95 of 100 requests are within these limits"));
  show_most(status);
  const auto best = best_under_goal(status);
  set_figure(1, best ? metric_value(app::metric_index("output_tok_s"), best->output_tok_s) : QStringLiteral("–"),
             tr("tok/s at most"), best ? cell_text(*status.plan, best->cell) : tr("no cell meets it yet"));
  const std::size_t n_measured =
      static_cast<std::size_t>(std::count_if(status.report->cells.begin(), status.report->cells.end(), [](const auto& cell) {
        return cell.second.error.empty() && !cell.second.samples.empty();
      }));
  set_figure(2, QLocale().toString(static_cast<qulonglong>(best ? best->n_meeting : 0)),
             tr("of %1 cells meet it").arg(n_measured), tr("95 of 100 requests in time"));
}

void ServiceStrip::show_most(const app::SweepStatus& status) {
  const QString none = QStringLiteral("–");
  if (app::has_saturation(*status.plan)) {
    const auto most = most_a_second(status);
    set_figure(0, most ? metric_value(app::metric_index("max_rate"), most->max_rate) : none, tr("req/s at most"),
               most ? cell_text(*status.plan, most->cell) : QString());
    return;
  }
  const auto most = most_at_a_time(status);
  set_figure(0, most ? QLocale().toString(static_cast<qlonglong>(most->concurrency)) : none, tr("concurrent at most"),
             most ? cell_text(*status.plan, most->cell) : QString());
}

}  // namespace lathe::ui
