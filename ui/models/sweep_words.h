// SPDX-License-Identifier: GPL-3.0-or-later
// Words for what a sweep varies and measures, and the grid in which its cells lie.
#pragma once

#include <QString>
#include <QStringList>

#include "app/api/sweeper.h"

namespace lathe::ui {

/// Names and titles of the app are UTF-8.
QString text_of(std::string_view text);
/// "max_num_seqs" as "Max num seqs".
QString setting_words(std::string_view name);
/// "TTFT p99, ms", "Output, tok/s".
QString metric_words(std::size_t metric);
/// Short, for a column: "TTFT p99 ms".
QString metric_column(std::size_t metric);
/// A value of that metric, without its unit; three significant digits.
QString metric_value(std::size_t metric, double value);
/// "6 min 10 s", "19 s".
QString time_words(double seconds);

/// All combinations of the variables but the last one down, the values of the last one across: cell = row * columns + column.
struct SweepGrid {
  QStringList rows, columns;
  std::size_t cell(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns.size()) + static_cast<std::size_t>(column);
  }
};
SweepGrid grid_of(const app::SweepPlan& plan);

}  // namespace lathe::ui
