// SPDX-License-Identifier: Apache-2.0
// SweepReport: results of a sweep so far, by cell.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/latency_distribution.h"
#include "app/api/machine_guard.h"
#include "app/api/sweep_metrics.h"
#include "app/api/sweep_plan.h"
#include "app/api/sweep_statistics.h"
#include "app/api/sweep_trial.h"

namespace lathe::app {

/// Distributions of a run, one for each of latencies(). Shared, because reports are copied with every run.
using RunDistributions = std::shared_ptr<const std::vector<LatencyDistribution>>;

/// CellResult::error of a cell that the user skipped.
inline constexpr std::string_view kSkipped = "skipped";

/// Result of a cell: samples [repeat][metric], NaN if a metric was not observed, or the reason why there are none.
struct CellResult {
  std::vector<std::vector<double>> samples;
  std::string error;                                         ///< message of a failure, or kSkipped
  std::vector<MachineWarning> warnings{};                    ///< worst warnings of all runs
  std::vector<RunDistributions> distributions{};             ///< distributions of the runs; runs in old journals have none
  std::vector<std::vector<SweepTrial>> trials{};             ///< for load saturation: trials of each run
  std::vector<double> samples_of(std::size_t metric) const;  ///< observed samples of a metric
  Estimate estimate_of(std::size_t metric) const;
  LatencyDistribution distribution_of(std::size_t latency) const;  ///< merged distribution of all runs
  /// The checksum that all runs have, or the checksums of all runs separated by spaces; empty: none was observed. Requires:
  /// a metric with kChecksumUnit.
  std::string checksums_of(std::size_t metric) const;
  /// True if the cell failed, was skipped, has all its repeats, or the interval of the first of main_metrics() is as narrow
  /// as the plan asks.
  bool is_done(const SweepPlan& plan) const;
  bool is_skipped() const { return error == kSkipped; }
  bool has_failed() const { return !error.empty() && !is_skipped(); }
  std::string error_text() const { return is_skipped() ? error : "failed: " + error; }  ///< Requires: there is an error
};

struct SweepReport {
  std::map<std::size_t, CellResult> cells;  ///< results by cell index; cells that were not reached are missing
  bool stopped = false;
  double seconds = 0;
  std::vector<MachineWarning> warnings() const;  ///< worst warnings of all cells
  std::size_t n_failed() const;
  std::size_t n_skipped() const;
};

/// True if a cell of the report has a distribution of that latency.
bool has_distribution(const SweepReport& report, std::size_t latency);

}  // namespace lathe::app
