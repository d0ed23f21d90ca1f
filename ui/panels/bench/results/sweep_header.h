// SPDX-License-Identifier: GPL-3.0-or-later
// SweepHeader: the progress of a sweep: cell, time, failures, and the grid of its cells.
#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

#include "ui/panels/bench/results/cell_grid.h"
#include "ui/theme/theme.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

class SweepHeader : public QWidget {
  Q_OBJECT
 public:
  SweepHeader(const Theme& theme, QWidget* parent);
  /// Shows a sweep. `expected`: rich text with the expected time until the sweep can estimate it from its own runs; empty:
  /// unknown, or the sweep estimates it.
  void show_sweep(const app::SweepStatus& status, const QString& expected = {});

 Q_SIGNALS:
  void skip_wanted();
  void resume_wanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_labels();
  void make_room();
  QString where_text(const app::SweepStatus& status) const;
  static QStringList facts_of(const app::SweepStatus& status, const QString& expected);

  const Theme& theme_;
  ToneLabel *title_, *failed_;
  QLabel *where_, *warnings_, *facts_;
  QStringList facts_words_;
  bool has_grid_ = false;
  Chip* state_;
  QProgressBar* bar_;
  QPushButton *skip_, *resume_;
  CellGrid* grid_;
};

/// "Concurrency 24, max num seqs 8": the values of a cell, each with the name of its variable.
QString cell_text(const app::SweepPlan& plan, std::size_t cell);

}  // namespace lathe::ui
