// SPDX-License-Identifier: Apache-2.0
// SweepReport: results of a sweep so far, their comparison with a baseline, and their export as JSON, CSV and Markdown.
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

/// Comparison of a cell's metric with a baseline: a difference counts if its 95 % interval (Welch) does not contain zero.
enum class Verdict : std::uint8_t {
  unknown,  ///< the cell or the baseline has no result, or a single run without an interval
  better,
  worse,
  noise
};
Verdict compare(const CellResult& cell, const CellResult& baseline, std::size_t metric);

/// True if a cell of the report has a distribution of that latency.
bool has_distribution(const SweepReport& report, std::size_t latency);

/// Index of a metric in sweep_metrics(). Requires: a metric of that name.
std::size_t metric_index(std::string_view name);

/// True if a cell sends conversations of more than one turn.
bool has_turns(const SweepPlan& plan);
/// True if a cell searches for the highest rate.
bool has_saturation(const SweepPlan& plan);
/// Metrics of tables for people, chosen by what the plan measures; the first is used for verdicts.
std::span<const std::string_view> main_metrics(const SweepPlan& plan);
/// Cells that no other cell beats in both metrics, ordered by the first metric.
std::vector<std::size_t> pareto_front(const SweepReport& report, std::size_t metric, std::size_t over);

/// JSON of a sweep: {"plan", "cells": [{"variables", "metrics": {name: {"mean", "ci95" (null: none), "n", "samples"}} or
/// "error"}], ...}, with "checksum" instead of "mean" and "ci95" for a checksum; with "distributions" {latency: {"n",
/// "quantiles": [[share, value], ...]}} if there are any; with "trials" of each run for load saturation; with "warnings" if
/// there are any, for a cell the values by guard, for the sweep also as text; and with "machine", this machine.
engine::OrderedJson to_json(const SweepPlan& plan, const SweepReport& report);
/// CSV with a line for each cell: variables, then mean and half width of each metric (or its checksum), then the error.
std::string to_csv(const SweepPlan& plan, const SweepReport& report);
/// Markdown table of the main metrics, with a row for each cell.
std::string to_markdown(const SweepPlan& plan, const SweepReport& report);

/// The plan that measures one cell again, as JSON and as a command line.
engine::OrderedJson cell_plan_json(const SweepPlan& plan, std::size_t cell);
std::string cell_command(const SweepPlan& plan, std::size_t cell);
/// A curl command that sends one request of the cell's mean lengths and sampling to the plan's target, or else to the server
/// at `base_url`. Its prompt consists of ids that every vocabulary has.
std::string cell_curl(const SweepPlan& plan, std::size_t cell, const std::string& base_url);

}  // namespace lathe::app
