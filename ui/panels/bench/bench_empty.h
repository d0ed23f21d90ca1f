// SPDX-License-Identifier: GPL-3.0-or-later
// BenchEmpty: the Bench page before the first sweep: what it is for, templates to begin with, and the sweep that was cut
// off.
#pragma once

#include <QPushButton>
#include <QWidget>

#include "app/api/sweep_templates.h"
#include "app/api/sweeper.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class BenchEmpty : public QWidget {
  Q_OBJECT
 public:
  BenchEmpty(const Theme& theme, QWidget* parent);
  /// Sets the latest saved sweep, or null. If it is unfinished, a button offers to resume it.
  void show_last(const app::KeptSweep* sweep);

 Q_SIGNALS:
  void template_chosen(const app::SweepTemplate* shape);
  void kept_chosen(const QString& journal);

 private:
  void add_labels(const Theme& theme);

  QPushButton* unfinished_;
  QString journal_;
};

}  // namespace lathe::ui
