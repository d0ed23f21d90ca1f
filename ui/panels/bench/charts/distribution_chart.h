// SPDX-License-Identifier: GPL-3.0-or-later
// DistributionChart: the share of a latency's values within a number of milliseconds (an empirical CDF), one line per cell.
#pragma once

#include <QLabel>
#include <QPen>
#include <QPolygonF>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "app/api/sweeper.h"
#include "ui/theme/theme.h"

class QCustomPlot;

namespace lathe::ui {

class ChartLegend;

class DistributionChart : public QWidget {
  Q_OBJECT
 public:
  DistributionChart(const Theme& theme, QWidget* parent);
  ~DistributionChart() override;
  void show_sweep(const app::SweepStatus& status, std::size_t latency);
  /// Draws the line of this cell stronger.
  void select_cell(std::optional<std::size_t> cell);
  /// Uses a logarithmic axis if offers_ratios() allows it.
  void set_by_ratio(bool by_ratio);
  bool offers_ratios() const;  ///< the values are far enough apart for a logarithmic axis
  QSize minimumSizeHint() const override;

  std::vector<std::size_t> cells() const;  ///< the cells that have a line, in the order of the lines
  QString name_of(std::size_t cell) const;
  QPen pen_of(std::size_t cell) const;
  std::optional<std::size_t> top_cell() const;   ///< the cell whose line is drawn over all others
  QPolygonF corners_of(std::size_t cell) const;  ///< x in milliseconds, y in per cent
  QPointF place_of(double ms, double percent) const;
  bool is_in_range(double ms) const;
  bool is_by_ratio() const;
  bool has_goal_line() const { return has_goal_line_; }
  QString axis_title() const;
  QString message() const { return message_->text(); }  ///< empty if there are lines
  /// The values of the line nearest to the point, as rich text; empty: no line is near.
  QString text_at(const QPointF& point) const;

 Q_SIGNALS:
  void cell_chosen(quint64 cell);

 protected:
  bool event(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Line {
    std::size_t cell;
    app::LatencyDistribution distribution;
  };
  void take_lines();
  QString why_empty() const;
  void rebuild();
  void add_line(const Line& line);
  void add_goal();
  double goal() const;
  void scale();
  void scale_evenly(double low, double high);
  void scale_by_ratio(double low, double high);
  void describe();
  void place();
  std::optional<std::size_t> line_near(const QPointF& point) const;

  const Theme& theme_;
  app::SweepStatus status_;
  std::size_t latency_ = 0;
  bool by_ratio_ = true;
  std::optional<std::size_t> selected_;
  std::vector<Line> lines_;
  std::size_t n_left_out_ = 0;
  double low_ = 0, high_ = 0;  ///< smallest and largest value of all lines
  bool has_goal_line_ = false;
  QCustomPlot* plot_;
  QLabel* message_;
  std::unique_ptr<ChartLegend> legend_;
};

}  // namespace lathe::ui
