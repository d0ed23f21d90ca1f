// SPDX-License-Identifier: Apache-2.0
// SweepMetric: a metric of a run with its definition, and the estimate from several runs.
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

/// Unit of metrics that are only compared for equality and have no mean.
inline constexpr std::string_view kChecksumUnit = "checksum";

/// THE TABLE of metrics.
std::span<const SweepMetric> sweep_metrics();

/// Values of all metrics, in the order of the table; NaN: not observed.
std::vector<double> measure(const RunRecord& run, const ServiceGoal& goal);

/// A mean over repeats with its 95 % confidence interval (Student's t).
struct Estimate {
  double mean = 0;
  double half_width = 0;  ///< 0 also if there is no interval: see has_interval()
  std::size_t n = 0;      ///< number of samples; 0: not observed
  /// False for a single run, unless its metric has its own interval.
  bool has_interval() const { return n > 1 || half_width > 0; }
};
Estimate estimate(std::span<const double> samples);

}  // namespace lathe::app
