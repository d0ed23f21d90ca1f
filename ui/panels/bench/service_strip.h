// SPDX-License-Identifier: GPL-3.0-or-later
// ServiceStrip: what a sweep says about the service level: how many at a time at most, at which rate, and how far ahead.
#pragma once

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/figure_strip.h"

namespace lathe::ui {

class ServiceStrip : public FigureStrip {
  Q_OBJECT
 public:
  ServiceStrip(const Theme& theme, QWidget* parent);
  /// Hidden where the plan has no goal.
  void show_sweep(const app::SweepStatus& status);

 private:
  void show_most(const app::SweepStatus& status);
};

}  // namespace lathe::ui
