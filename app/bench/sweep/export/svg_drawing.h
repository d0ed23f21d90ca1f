// SPDX-License-Identifier: Apache-2.0
// Draws a chart as SVG: axes, series of points and lines, and a legend.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/api/sweep_plan.h"

namespace lathe::app {

/// Lines beyond this number are left out of a drawing; the legend says how many.
inline constexpr std::size_t kMostLines = 24;

struct DrawnPoint {
  double x = 0, y = 0, half = 0;
  std::string name{};  ///< name of the cell
};
struct DrawnSeries {
  std::string name;
  std::size_t look = 0;
  bool has_line = true;
  bool has_names = false;  ///< names are written next to the points
  bool has_marks = true;   ///< a line with neither marks nor names shows its points as corners
  std::vector<DrawnPoint> points;
};
struct DrawnAxis {
  std::string title;
  double low = 0, high = 1;
  std::vector<std::pair<double, std::string>> ticks;
  double place(double value) const { return (value - low) / (high - low); }
};

/// Returns an axis from 0 to a round end above `most`, with round ticks.
DrawnAxis value_axis(std::string title, double most);
/// Returns one complete svg element.
std::string drawing(const DrawnAxis& across, const DrawnAxis& up, const std::vector<DrawnSeries>& series);
/// Returns the values of the cell's variables, without the last `n_left_out` variables.
std::string name_of(const SweepPlan& plan, std::size_t cell, std::size_t n_left_out = 0);
/// Returns a legend entry without a line: "4 more in the table".
DrawnSeries left_out(std::size_t n);

}  // namespace lathe::app
