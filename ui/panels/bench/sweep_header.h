// SPDX-License-Identifier: GPL-3.0-or-later
// SweepHeader: where the sweep stands: cell, progress, time, what failed, and the grid of its cells.
#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

#include "ui/panels/bench/cell_grid.h"
#include "ui/theme/theme.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

class SweepHeader : public QWidget {
  Q_OBJECT
 public:
  SweepHeader(const Theme& theme, QWidget* parent);
  /// `expected`: what is known of its time before the first cell, rich text; empty: nothing, or it knows by itself.
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

/// "Continuous, concurrency 24": the values of a cell, named where the value alone would not say what it is.
QString cell_text(const app::SweepPlan& plan, std::size_t cell);

}  // namespace lathe::ui
