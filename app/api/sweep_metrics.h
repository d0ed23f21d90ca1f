// SPDX-License-Identifier: Apache-2.0
// SweepMetric: a metric of a run with its definition.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/sweep_plan.h"

namespace lathe::app {

struct RunRecord;

/// Unit of metrics that are only compared for equality and have no mean.
inline constexpr std::string_view kChecksumUnit = "checksum";

struct SweepMetric {
  std::string_view name;  ///< "ttft_ms_p99"
  std::string_view unit;
  std::string_view definition;  ///< one sentence
  bool more_is_better;
  double (*of)(const RunRecord& run, const ServiceGoal& goal);
  bool is_checksum() const { return unit == kChecksumUnit; }
};

/// THE TABLE of metrics.
std::span<const SweepMetric> sweep_metrics();
/// Index of a metric in sweep_metrics(). Requires: a metric of that name.
std::size_t metric_index(std::string_view name);

/// Values of all metrics, in the order of the table; NaN: not observed.
std::vector<double> measure(const RunRecord& run, const ServiceGoal& goal);

/// True if a cell sends conversations of more than one turn.
bool has_turns(const SweepPlan& plan);
/// True if a cell searches for the highest rate.
bool has_saturation(const SweepPlan& plan);
/// Metrics of tables for people, chosen by what the plan measures; the first is used for verdicts.
std::span<const std::string_view> main_metrics(const SweepPlan& plan);

}  // namespace lathe::app
