// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/export/svg_drawing.h"

namespace lathe::app {
namespace {

constexpr double kLogFrom = 8;  // an axis whose values differ by this factor is logarithmic

std::string metric_title(std::size_t metric) {
  return fmt::format("{} ({})", sweep_metrics()[metric].name, sweep_metrics()[metric].unit);
}

/// Returns the axis of a variable: numbers at their values, logarithmic if far apart; other values at equal distances.
DrawnAxis variable_axis(const SweepVariable* variable) {
  if (variable == nullptr) return {.title = {}, .low = -1, .high = 1, .ticks = {{0, "all"}}};
  std::vector<double> places;
  for (const std::string& value : variable->values) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) places.push_back(number);
  }
  const bool all_numbers = places.size() == variable->values.size();
  places.resize(variable->values.size());
  for (std::size_t i = 0; !all_numbers && i < places.size(); ++i) places[i] = static_cast<double>(i);
  auto [low, high] = std::minmax_element(places.begin(), places.end());
  if (all_numbers && *low > 0 && *high / *low >= kLogFrom) {
    for (double& place : places) place = std::log2(place);
  }
  std::tie(low, high) = std::minmax_element(places.begin(), places.end());
  const double room = *high == *low ? 1 : 0.05 * (*high - *low);
  DrawnAxis axis{.title = variable->name, .low = *low - room, .high = *high + room, .ticks = {}};
  for (std::size_t i = 0; i < places.size(); ++i) axis.ticks.emplace_back(places[i], variable->values[i]);
  return axis;
}

/// Returns "paged" or "block_size 32": the setting's name precedes numbers, true and false.
std::string value_name(const std::string& setting, const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc() && end == value.data() + value.size();
  return is_number || value == "true" || value == "false" ? setting + " " + value : value;
}

std::vector<DrawnSeries> lines_of(const SweepPlan& plan, const SweepReport& report, std::size_t metric,
                                  const DrawnAxis& across) {
  const std::size_t n_columns = plan.variables.empty() ? 1 : plan.variables.back().values.size();
  std::vector<DrawnSeries> lines;
  const std::size_t n_rows = n_cells(plan) / n_columns;
  for (std::size_t row = 0; row < std::min(kMostLines, n_rows); ++row) {
    DrawnSeries line{.name = name_of(plan, row * n_columns, 1), .look = row, .points = {}};
    for (std::size_t column = 0; column < n_columns; ++column) {
      const auto found = report.cells.find(row * n_columns + column);
      if (found == report.cells.end() || !found->second.error.empty()) continue;
      const Estimate value = found->second.estimate_of(metric);
      if (value.n > 0)
        line.points.push_back({across.ticks[column].first, value.mean, value.half_width, name_of(plan, found->first)});
    }
    std::sort(line.points.begin(), line.points.end(), [](const DrawnPoint& a, const DrawnPoint& b) { return a.x < b.x; });
    lines.push_back(std::move(line));
  }
  if (n_rows > kMostLines) lines.push_back(left_out(n_rows - kMostLines));
  return lines;
}

std::vector<DrawnSeries> front_of(const SweepPlan& plan, const SweepReport& report, std::size_t metric, std::size_t over) {
  DrawnSeries all{.name = "all cells", .look = 5, .has_line = false, .points = {}};
  DrawnSeries front{.name = "no other cell is better in both", .look = 0, .has_names = true, .points = {}};
  const auto point_of = [&](std::size_t index, const CellResult& cell) {
    return DrawnPoint{cell.estimate_of(over).mean, cell.estimate_of(metric).mean, 0, name_of(plan, index)};
  };
  for (const auto& [index, cell] : report.cells) {
    if (cell.error.empty() && cell.estimate_of(over).n > 0 && cell.estimate_of(metric).n > 0)
      all.points.push_back(point_of(index, cell));
  }
  for (const std::size_t cell : pareto_front(report, metric, over))
    front.points.push_back(point_of(cell, report.cells.at(cell)));
  return {all, front};
}

double most_of(const std::vector<DrawnSeries>& series, double (*of)(const DrawnPoint&)) {
  double most = 0;
  for (const DrawnSeries& one : series) {
    for (const DrawnPoint& point : one.points) most = std::max(most, of(point));
  }
  return most;
}

}  // namespace

std::string name_of(const SweepPlan& plan, std::size_t cell, std::size_t n_left_out) {
  const auto values = values_of(plan, cell);
  std::string name;
  for (std::size_t i = 0; i + n_left_out < values.size(); ++i)
    name += (i > 0 ? ", " : "") + value_name(values[i].first, values[i].second);
  return name;
}

std::string chart_svg(const SweepPlan& plan, const SweepReport& report, std::size_t metric,
                      std::optional<std::size_t> over) {
  const auto height_of = [](const DrawnPoint& point) { return point.y + std::min(point.half, point.y); };
  if (over) {
    const std::vector<DrawnSeries> series = front_of(plan, report, metric, *over);
    return drawing(value_axis(metric_title(*over), most_of(series, [](const DrawnPoint& point) { return point.x; })),
                   value_axis(metric_title(metric), most_of(series, height_of)), series);
  }
  const DrawnAxis across = variable_axis(plan.variables.empty() ? nullptr : &plan.variables.back());
  const std::vector<DrawnSeries> series = lines_of(plan, report, metric, across);
  return drawing(across, value_axis(metric_title(metric), most_of(series, height_of)), series);
}

}  // namespace lathe::app
