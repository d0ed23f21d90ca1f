// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/export/reordered_sweep.h"

#include <algorithm>

namespace lathe::app {

ReorderedSweep reordered(const SweepPlan& plan, const SweepReport& report, std::size_t last) {
  ReorderedSweep sweep{plan, report};
  if (last >= plan.variables.size()) return sweep;
  const auto moved = sweep.plan.variables.begin() + static_cast<std::ptrdiff_t>(last);
  std::rotate(moved, moved + 1, sweep.plan.variables.end());
  const std::size_t n_values = plan.variables[last].values.size();
  std::size_t stride = 1;  // distance of cells that differ in neighbouring values of the variable
  for (std::size_t i = last + 1; i < plan.variables.size(); ++i) stride *= plan.variables[i].values.size();
  sweep.report.cells.clear();
  for (const auto& [index, cell] : report.cells) {
    const std::size_t before = index / (stride * n_values), value = index / stride % n_values, after = index % stride;
    sweep.report.cells.emplace((before * stride + after) * n_values + value, cell);
  }
  return sweep;
}

}  // namespace lathe::app
