// SPDX-License-Identifier: GPL-3.0-or-later
// SweepGrid: the cells of a sweep in rows and columns: the values of one variable across, combinations of the others down.
#pragma once

#include <QStringList>
#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::ui {

struct SweepGrid {
  QStringList rows, columns;
  std::vector<std::size_t> first_cells;  ///< of the rows
  std::size_t stride = 1;                ///< from column to column
  std::size_t cell(int row, int column) const {
    return first_cells[static_cast<std::size_t>(row)] + static_cast<std::size_t>(column) * stride;
  }
};
/// How far apart cells are that differ in the next value of a variable alone.
std::size_t stride_of(const app::SweepPlan& plan, std::size_t variable);
/// The variable that lies across where nobody chose one: the last.
std::size_t usual_axis(const app::SweepPlan& plan);
/// `axis`: the index of a variable.
SweepGrid grid_of(const app::SweepPlan& plan, std::size_t axis);
inline SweepGrid grid_of(const app::SweepPlan& plan) { return grid_of(plan, usual_axis(plan)); }

/// The same sweep with `axis` as its last variable.
struct TurnedSweep {
  app::SweepPlan plan;
  app::SweepReport report;
};
TurnedSweep turned(const app::SweepPlan& plan, const app::SweepReport& report, std::size_t axis);

}  // namespace lathe::ui
