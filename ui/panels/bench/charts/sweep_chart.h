// SPDX-License-Identifier: GPL-3.0-or-later
// SweepChart: a metric over a variable with its 95 % intervals, one line for each combination of the other variables; or one
// metric against another, cell by cell, with the Pareto front.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "app/api/sweeper.h"
#include "ui/models/sweep_grid.h"
#include "ui/theme/theme.h"

class QCPItemText;
class QCPScatterStyle;
class QCustomPlot;

namespace lathe::ui {

class ChartLegend;
struct LegendEntry;

class SweepChart : public QWidget {
  Q_OBJECT
 public:
  SweepChart(const Theme& theme, QWidget* parent);
  ~SweepChart() override;
  /// Shows a sweep. `over`: metric of the horizontal axis; none: the variable with index `axis`.
  void show_sweep(const app::SweepStatus& status, std::size_t metric, std::optional<std::size_t> over, std::size_t axis);
  QSize minimumSizeHint() const override;
  QCustomPlot* plot() const { return plot_; }
  int n_points() const { return n_points_; }
  const QStringList& names() const { return names_; }  ///< names of the lines
  int n_legend_rows() const;
  /// The names that are shown next to points of the Pareto chart; names that overlap others are left out.
  QStringList point_names() const;
  /// Distance of the point (0, 0) from the left and the lower edge of the plot. Units: pixels.
  QPointF room_at_zero() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void style();
  void leave_room_for(const QString& last_label);
  void rebuild();
  void add_lines();
  void add_pareto();
  void name_point(std::size_t cell, double x, double y, bool is_of_front);
  void place_point_names();
  void place_legend();
  std::vector<LegendEntry> entries() const;
  void scale(double top);
  std::vector<double> positions() const;
  QColor color_of(int line) const;
  QCPScatterStyle mark_of(int line) const;

  const Theme& theme_;
  app::SweepStatus status_;
  SweepGrid grid_;
  std::size_t metric_ = 0, axis_ = 0;
  std::optional<std::size_t> over_;
  QCustomPlot* plot_;
  QStringList names_;
  std::unique_ptr<ChartLegend> legend_;
  std::vector<QCPItemText*> point_names_;  ///< names of points on the Pareto front first
  int n_points_ = 0;
};

}  // namespace lathe::ui
