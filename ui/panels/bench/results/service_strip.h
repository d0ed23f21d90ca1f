// SPDX-License-Identifier: GPL-3.0-or-later
// ServiceStrip: a sweep's figures under the service level: the most concurrent requests or the highest request rate, the
// highest token rate, and how many cells keep it.
#pragma once

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/results/figure_strip.h"

namespace lathe::ui {

class ServiceStrip : public FigureStrip {
  Q_OBJECT
 public:
  ServiceStrip(const Theme& theme, QWidget* parent);
  /// Shows the figures of a sweep; hidden if the plan has no goal.
  void show_sweep(const app::SweepStatus& status);

 private:
  void show_most(const app::SweepStatus& status);
};

}  // namespace lathe::ui
