// SPDX-License-Identifier: Apache-2.0
// Statistics of a sweep: means with confidence intervals, verdicts on differences, and Pareto fronts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lathe::app {

struct CellResult;
struct SweepReport;

/// A mean over repeats with its 95 % confidence interval (Student's t).
struct Estimate {
  double mean = 0;
  double half_width = 0;  ///< 0 also if there is no interval: see has_interval()
  std::size_t n = 0;      ///< number of samples; 0: not observed
  /// False for a single run, unless its metric has its own interval.
  bool has_interval() const { return n > 1 || half_width > 0; }
};
Estimate estimate(std::span<const double> samples);

/// Comparison of a cell's metric with a baseline: a difference counts if its 95 % interval (Welch) does not contain zero.
enum class Verdict : std::uint8_t {
  unknown,  ///< the cell or the baseline has no result, or a single run without an interval
  better,
  worse,
  noise
};
Verdict compare(const CellResult& cell, const CellResult& baseline, std::size_t metric);

/// Cells that no other cell beats in both metrics, ordered by the metric `over`.
std::vector<std::size_t> pareto_front(const SweepReport& report, std::size_t metric, std::size_t over);

}  // namespace lathe::app
