// SPDX-License-Identifier: GPL-3.0-or-later
// ChartLegend: the names of a chart's lines, each after a sample of the line, in as many rows as they need.
#pragma once

#include <QPen>
#include <QString>
#include <QWidget>
#include <climits>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

struct LegendEntry {
  static constexpr int kNoMark = -1;

  QString name;  ///< empty: the entry takes no space
  QPen pen;
  int mark = kNoMark;    ///< QCPScatterStyle::ScatterShape
  bool has_line = true;  ///< an entry without line and mark is a remark
  bool is_strong = false;
};

class ChartLegend {
 public:
  explicit ChartLegend(const Theme& theme) : theme_(theme) {}
  void set(std::vector<LegendEntry> entries) { entries_ = std::move(entries); }
  /// Lays the legend out and returns its height. Units: pixels. Names that do not fit into `most_rows` are counted after the
  /// others.
  int place(int width, int most_rows = INT_MAX);
  void paint(QWidget& chart) const;
  int n_rows() const { return n_rows_; }
  int n_left_out() const { return static_cast<int>(entries_.size() - places_.size()); }
  /// Index of the entry at the point; -1: none.
  int entry_at(const QPointF& point) const;

 private:
  int width_of(const LegendEntry& entry) const;
  QString text_of_rest() const;

  const Theme& theme_;
  std::vector<LegendEntry> entries_;
  std::vector<QPoint> places_;  ///< middle of the left edge of each shown entry
  QPoint rest_;                 ///< middle of the left edge of the count of the other entries
  int n_rows_ = 1;
};

}  // namespace lathe::ui
