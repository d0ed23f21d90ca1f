// SPDX-License-Identifier: GPL-3.0-or-later
// HeatMap: one metric of every cell of a sweep as a number on a colour scale from low to high.
#pragma once

#include <QWidget>

#include "app/api/sweeper.h"
#include "ui/models/sweep_grid.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// The colour of a share from 0 to 1 on the theme's scale.
QColor heat_color(const Tokens& tokens, double share);

class HeatMap : public QWidget {
  Q_OBJECT
 public:
  HeatMap(const Theme& theme, QWidget* parent);
  /// Shows one metric of a sweep. `axis`: index of the variable whose values are the columns.
  void show_sweep(const app::SweepStatus& status, std::size_t metric, std::size_t axis);
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void cell_chosen(quint64 cell);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Place {
    int left, top;
    qreal width, height;
  };
  Place place() const;
  QRectF square_of(int row, int column) const;
  int cell_at(const QPointF& point) const;  ///< -1: none
  void find_range();
  void paint_cell(QPainter& painter, const QRectF& square, std::size_t cell) const;
  static void draw_where_it_fits(QPainter& painter, const QRectF& square, const QString& words);
  void paint_scale(QPainter& painter) const;

  const Theme& theme_;
  app::SweepStatus status_;
  SweepGrid grid_;
  std::size_t metric_ = 0, axis_ = 0;
  double low_ = 0, high_ = 0;
};

}  // namespace lathe::ui
