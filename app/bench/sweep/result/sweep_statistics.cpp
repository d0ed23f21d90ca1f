// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_statistics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "app/api/sweep_report.h"

namespace lathe::app {
namespace {

/// 97.5 % quantile of Student's t (two-sided 95 %) for fractional degrees of freedom: below 20 interpolated between whole
/// degrees in 1 / degrees, else approximated.
double student_t(double degrees) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (degrees >= std::size(kTable)) return 1.96 + 2.372 / degrees + 2.82 / (degrees * degrees);
  const double below = std::max(1.0, std::floor(degrees));
  const double lower = kTable[static_cast<std::size_t>(below) - 1], upper = kTable[static_cast<std::size_t>(below)];
  const double share = (1 / below - 1 / std::max(degrees, 1.0)) / (1 / below - 1 / (below + 1));
  return lower + share * (upper - lower);
}

/// A mean, its variance and the degrees of freedom of that variance; 0: the variance of a single run is unknown.
struct Spread {
  double mean = 0, variance = 0, degrees = 0;
};

Spread spread_of(const CellResult& cell, std::size_t metric) {
  const Estimate value = cell.estimate_of(metric);
  if (metric == metric_index("perplexity") && value.half_width > 0) {  // its interval is over thousands of tokens
    const double deviation = value.half_width / student_t(INFINITY);
    return {value.mean, deviation * deviation, INFINITY};
  }
  const std::vector<double> samples = cell.samples_of(metric);
  if (samples.size() < 2) return {};
  double squares = 0;
  for (const double sample : samples) squares += (sample - value.mean) * (sample - value.mean);
  const auto n = static_cast<double>(samples.size());
  return {value.mean, squares / (n - 1) / n, n - 1};
}

}  // namespace

Estimate estimate(std::span<const double> samples) {
  if (samples.empty()) return {};
  const auto n = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  // The mean of equal samples has a rounding error, which is no spread.
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const double half = *least == *most ? 0 : student_t(n - 1) * std::sqrt(squares / (n - 1) / n);
  return {*least == *most ? *least : mean, half, samples.size()};
}

Verdict compare(const CellResult& cell, const CellResult& baseline, std::size_t metric) {
  const Spread ours = spread_of(cell, metric), theirs = spread_of(baseline, metric);
  if (ours.degrees == 0 || theirs.degrees == 0) return Verdict::unknown;
  const double difference = ours.mean - theirs.mean;
  if (difference == 0) return Verdict::noise;
  const double variance = ours.variance + theirs.variance;
  if (variance > 0) {
    // Welch-Satterthwaite degrees of freedom.
    const double degrees =
        variance * variance /
        (ours.variance * ours.variance / ours.degrees + theirs.variance * theirs.variance / theirs.degrees);
    if (std::abs(difference) <= student_t(degrees) * std::sqrt(variance)) return Verdict::noise;
  }
  return (difference > 0) == sweep_metrics()[metric].more_is_better ? Verdict::better : Verdict::worse;
}

std::vector<std::size_t> pareto_front(const SweepReport& report, std::size_t metric, std::size_t over) {
  struct Point {
    std::size_t cell;
    double x, y;  // the greater, the better
  };
  const auto metrics = sweep_metrics();
  std::vector<Point> points;
  for (const auto& [index, cell] : report.cells) {
    const Estimate x = cell.estimate_of(over), y = cell.estimate_of(metric);
    if (!cell.error.empty() || x.n == 0 || y.n == 0) continue;
    points.push_back(
        {index, metrics[over].more_is_better ? x.mean : -x.mean, metrics[metric].more_is_better ? y.mean : -y.mean});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x != b.x ? a.x > b.x : a.y > b.y; });
  std::vector<std::size_t> front;
  double best = -INFINITY;
  for (const Point& point : points) {
    if (point.y <= best) continue;
    best = point.y;
    front.push_back(point.cell);
  }
  return front;
}

}  // namespace lathe::app
