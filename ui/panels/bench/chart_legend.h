// SPDX-License-Identifier: GPL-3.0-or-later
// ChartLegend: the names of a chart's lines, each behind a piece of it; those that have no room in a row begin the next.
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

  QString name;  ///< empty: it takes no room
  QPen pen;
  int mark = kNoMark;    ///< QCPScatterStyle::ScatterShape
  bool has_line = true;  ///< with neither it is a remark
  bool is_strong = false;
};

class ChartLegend {
 public:
  explicit ChartLegend(const Theme& theme) : theme_(theme) {}
  void set(std::vector<LegendEntry> entries) { entries_ = std::move(entries); }
  /// Pixels that it is high. Names that `most_rows` cannot take are counted behind the others.
  int place(int width, int most_rows = INT_MAX);
  void paint(QWidget& chart) const;
  int n_rows() const { return n_rows_; }
  int n_left_out() const { return static_cast<int>(entries_.size() - places_.size()); }
  /// The entry there; -1: none.
  int entry_at(const QPointF& point) const;

 private:
  int width_of(const LegendEntry& entry) const;
  QString text_of_rest() const;

  const Theme& theme_;
  std::vector<LegendEntry> entries_;
  std::vector<QPoint> places_;  ///< middle of the left edge, of those that are shown
  QPoint rest_;                 ///< the same, of the number of the others
  int n_rows_ = 1;
};

}  // namespace lathe::ui
