// SPDX-License-Identifier: GPL-3.0-or-later
// LiveChart: a few lines over the last seconds or minutes, with the title and the present value above, then a legend of the
// lines, then the plot.
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <optional>
#include <vector>

#include "ui/models/series_history.h"
#include "ui/theme/theme.h"

class QCustomPlot;
class QLabel;
class QCPItemStraightLine;

namespace lathe::ui {

/// A line of the chart. Its colour follows its meaning, its dash its index in the chart.
struct ChartLine {
  QString name;
  std::function<QColor(const Tokens&)> color;
  bool steps = false;   ///< draws steps: counts stay until they change
  bool filled = false;  ///< at most one line of a chart is filled
};

/// Thread: GUI. Repaints only in refresh(), and only while a part of the chart can be seen.
class LiveChart : public QWidget {
  Q_OBJECT
 public:
  LiveChart(const Theme& theme, const QString& name, const QString& title, std::vector<ChartLine> lines, QWidget* parent);

  void append(double time_s, const std::vector<double>& values) { history_.append(time_s, values); }
  void set_span(Span span);
  /// Sets the figure at the right of the title: bold, then plain ("914", "of 1,024").
  void set_value(const QString& bold, const QString& plain);
  /// Gives the text at a tick of the value axis, whose ticks are `step` apart. Default: the number.
  using AxisWords = std::function<QString(double value, double step)>;
  void set_axis_text(AxisWords words) { axis_words_ = std::move(words); }
  /// Sets a dashed line that should not be crossed; it is the top of the axis unless a value exceeds it; none removes the
  /// line.
  void set_limit(std::optional<double> limit) { limit_ = limit; }
  void refresh(double now_s);
  /// Text shown instead of the lines until the first sample: what will appear and how to get it.
  void set_empty_text(const QString& text);

  const SeriesHistory& history() const { return history_; }
  const std::vector<ChartLine>& lines() const { return lines_; }
  const QString& title() const { return title_; }
  /// The samples of the present span as lines of comma-separated values, with a heading.
  QString csv() const;
  QStringList value_ticks() const { return value_ticks_; }  ///< texts of the value axis, lowest first
  int n_replots() const { return n_replots_; }
  QCustomPlot* plot() const { return plot_; }

  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build_plot();
  void style();
  void fill_graphs(double now_s);
  void scale_value_axis(double highest);
  void label_time_axis();
  void describe();
  void paint_legend(QPainter& painter) const;

  const Theme& theme_;
  QString title_, value_, unit_;
  AxisWords axis_words_;
  QStringList value_ticks_;
  std::vector<ChartLine> lines_;
  SeriesHistory history_;
  Span span_ = Span::half_minute;
  std::optional<double> limit_;
  QCustomPlot* plot_ = nullptr;
  QCPItemStraightLine* limit_line_ = nullptr;
  QLabel* empty_ = nullptr;
  int n_replots_ = 0;
};

}  // namespace lathe::ui
