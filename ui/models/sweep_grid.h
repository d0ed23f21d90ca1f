// SPDX-License-Identifier: GPL-3.0-or-later
// SweepGrid: the cells of a sweep in rows and columns: the values of one variable across, combinations of the others down.
#pragma once

#include <QStringList>
#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::ui {

struct SweepGrid {
  QStringList rows, columns;
  std::vector<std::size_t> first_cells;  ///< first cell of each row
  std::size_t stride = 1;                ///< distance in cells from column to column
  std::size_t cell(int row, int column) const {
    return first_cells[static_cast<std::size_t>(row)] + static_cast<std::size_t>(column) * stride;
  }
};
/// Distance in cells between two cells that differ only in neighbouring values of a variable.
std::size_t stride_of(const app::SweepPlan& plan, std::size_t variable);
/// The variable whose values are the columns unless the user chose one: the last.
std::size_t usual_axis(const app::SweepPlan& plan);
/// The grid of a plan. `axis`: index of the variable whose values are the columns.
SweepGrid grid_of(const app::SweepPlan& plan, std::size_t axis);
inline SweepGrid grid_of(const app::SweepPlan& plan) { return grid_of(plan, usual_axis(plan)); }

}  // namespace lathe::ui
