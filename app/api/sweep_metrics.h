// SPDX-License-Identifier: Apache-2.0
// Metrics of a run, with their definitions, and what several runs say together.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/sweep_plan.h"

namespace lathe::app {

struct RunRecord;

struct SweepMetric {
  std::string_view name;  ///< "ttft_ms_p99"
  std::string_view unit;
  std::string_view definition;  ///< one sentence
  bool more_is_better;
  double (*of)(const RunRecord& run, const ServiceGoal& goal);
};

/// Unit of numbers that are equal or not and have no mean.
inline constexpr std::string_view kChecksumUnit = "checksum";

/// THE TABLE of metrics.
std::span<const SweepMetric> sweep_metrics();

/// One value a metric, in the order of the table; NaN where nothing could be seen.
std::vector<double> measure(const RunRecord& run, const ServiceGoal& goal);

/// A mean over repeats with its 95 % confidence interval (Student's t).
struct Estimate {
  double mean = 0;
  double half_width = 0;  ///< 0 too where there is none: see has_interval
  std::size_t n = 0;      ///< 0: nothing was seen
  /// A single run has none, unless what it measured has one of its own.
  bool has_interval() const { return n > 1 || half_width > 0; }
};
Estimate estimate(std::span<const double> samples);

}  // namespace lathe::app
