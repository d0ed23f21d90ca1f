// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sweep_grid.h"

#include "ui/models/sweep_text.h"

namespace lathe::ui {

std::size_t stride_of(const app::SweepPlan& plan, std::size_t variable) {
  std::size_t stride = 1;
  for (std::size_t i = variable + 1; i < plan.variables.size(); ++i) stride *= plan.variables[i].values.size();
  return stride;
}

std::size_t usual_axis(const app::SweepPlan& plan) { return plan.variables.empty() ? 0 : plan.variables.size() - 1; }

SweepGrid grid_of(const app::SweepPlan& plan, std::size_t axis) {
  SweepGrid grid{.rows = {QString()}, .columns = {}, .first_cells = {0}};
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    if (i == axis) continue;
    const app::SweepVariable& variable = plan.variables[i];
    const std::size_t stride = stride_of(plan, i);
    QStringList rows;
    std::vector<std::size_t> first_cells;
    for (std::size_t row = 0; row < grid.first_cells.size(); ++row) {
      for (std::size_t value = 0; value < variable.values.size(); ++value) {
        const QString word = value_text(variable.name, variable.values[value]), &before = grid.rows[static_cast<int>(row)];
        rows << (before.isEmpty() ? word : QStringLiteral("%1, %2").arg(before, word));
        first_cells.push_back(grid.first_cells[row] + value * stride);
      }
    }
    grid.rows = std::move(rows);
    grid.first_cells = std::move(first_cells);
  }
  if (plan.variables.empty()) grid.columns = {QString()};
  else
    for (const std::string& value : plan.variables[axis].values) grid.columns << QString::fromStdString(value);
  grid.stride = stride_of(plan, axis);
  return grid;
}

}  // namespace lathe::ui
