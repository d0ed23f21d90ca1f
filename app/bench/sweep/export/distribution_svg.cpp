// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/export/svg_drawing.h"

namespace lathe::app {
namespace {

constexpr std::size_t kGoalLook = 35;  // no cell has this look

/// Smallest and largest latency over all lines.
struct Span {
  double low = INFINITY, high = 0;
  bool by_ratio() const { return low > 0 && high > kRatiosFrom * low; }
};

/// Returns the cumulative distribution as a staircase from 0 % at the smallest value to 100 % at the largest.
std::vector<DrawnPoint> stair(const LatencyDistribution& distribution) {
  std::vector<DrawnPoint> points;
  double share = 0;
  for (const Quantile& quantile : distribution.quantiles()) {
    points.push_back({quantile.value, 100 * share});
    share = quantile.share;
    points.push_back({quantile.value, 100 * share});
  }
  return points;
}

/// Returns a logarithmic axis with ticks at 1, 2 and 5 times the powers of ten; beyond three decades at the powers alone.
DrawnAxis ratio_axis(std::string title, const Span& span) {
  constexpr double kRoom = 1.1;
  DrawnAxis axis{
      .title = std::move(title), .low = std::log10(span.low / kRoom), .high = std::log10(span.high * kRoom), .ticks = {}};
  const bool few = axis.high - axis.low > 3;
  for (double power = std::floor(axis.low); power <= axis.high; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double place = power + std::log10(factor);
      if (place < axis.low || place > axis.high || (few && factor != 1)) continue;
      axis.ticks.emplace_back(place, fmt::format("{:.6g}", factor * std::pow(10.0, power)));
    }
  }
  return axis;
}

}  // namespace

std::string distribution_svg(const SweepPlan& plan, const SweepReport& report, std::size_t latency) {
  std::vector<DrawnSeries> lines;
  Span span;
  std::size_t n_left_out = 0;
  for (const auto& [index, cell] : report.cells) {
    const LatencyDistribution distribution = cell.distribution_of(latency);
    if (!cell.error.empty() || distribution.n == 0) continue;
    if (lines.size() == kMostLines) {
      ++n_left_out;
      continue;
    }
    span = {std::min(span.low, distribution.values.front()), std::max(span.high, distribution.values.back())};
    lines.push_back({.name = name_of(plan, index), .look = lines.size(), .has_marks = false, .points = stair(distribution)});
  }
  if (n_left_out > 0) lines.push_back(left_out(n_left_out));
  const Latency& shown = latencies()[latency];
  const double goal = shown.goal == nullptr ? 0 : plan.goal.*shown.goal;
  constexpr double kInSight = 3;  // a goal further away would press the lines to the edge
  if (goal > 0 && goal < kInSight * span.high) {
    span = {std::min(span.low, goal), std::max(span.high, goal)};
    lines.push_back({.name = fmt::format("goal {:g} ms", goal),
                     .look = kGoalLook,
                     .has_marks = false,
                     .points = {{goal, 0}, {goal, 100}}});
  }
  const std::string title = fmt::format("{} (ms)", shown.name);
  DrawnAxis up{.title = "share (%)", .low = 0, .high = 103, .ticks = {}};
  for (const int tick : {0, 25, 50, 75, 100}) up.ticks.emplace_back(tick, std::to_string(tick));
  if (!span.by_ratio()) return drawing(value_axis(title, span.high), up, lines);
  for (DrawnSeries& line : lines) {
    for (DrawnPoint& point : line.points) point.x = std::log10(point.x);
  }
  return drawing(ratio_axis(title, span), up, lines);
}

}  // namespace lathe::app
