// SPDX-License-Identifier: GPL-3.0-or-later
// CellGrid: a square for each cell of a sweep: done, running, failed or waiting.
#pragma once

#include <QWidget>

#include "app/api/sweeper.h"
#include "ui/models/sweep_grid.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class CellGrid : public QWidget {
  Q_OBJECT
 public:
  CellGrid(const Theme& theme, QWidget* parent);
  void show_sweep(const app::SweepStatus& status);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paint_square(QPainter& painter, const QRectF& square, std::size_t cell) const;
  int label_width() const;

  const Theme& theme_;
  app::SweepStatus status_;
  SweepGrid grid_;
};

}  // namespace lathe::ui
