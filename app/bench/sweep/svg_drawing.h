// SPDX-License-Identifier: Apache-2.0
// A chart as SVG: axes, series of points and lines, and their legend.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/api/sweep_plan.h"

namespace lathe::app {

/// In a drawing lines beyond these are left out, and told.
inline constexpr std::size_t kMostLines = 24;

struct DrawnPoint {
  double x = 0, y = 0, half = 0;
  std::string name{};  ///< of its cell
};
struct DrawnSeries {
  std::string name;
  std::size_t look = 0;
  bool has_line = true;
  bool has_names = false;  ///< beside its points
  bool has_marks = true;   ///< a line with neither shows its points as corners
  std::vector<DrawnPoint> points;
};
struct DrawnAxis {
  std::string title;
  double low = 0, high = 1;
  std::vector<std::pair<double, std::string>> ticks;
  double place(double value) const { return (value - low) / (high - low); }
};

/// From 0 to a round end above `most`, with round ticks.
DrawnAxis value_axis(std::string title, double most);
/// One element, whole.
std::string drawing(const DrawnAxis& across, const DrawnAxis& up, const std::vector<DrawnSeries>& series);
/// The values of the variables of a cell, of all but `n_left_out` at the end.
std::string name_of(const SweepPlan& plan, std::size_t cell, std::size_t n_left_out = 0);
/// "4 more in the table": a name in the legend without a line.
DrawnSeries left_out(std::size_t n);

}  // namespace lathe::app
