// SPDX-License-Identifier: Apache-2.0
// SweepReport: what a sweep has measured so far, what it says beside a baseline, and how it leaves the program.
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

/// One for each of latencies(). Shared: reports are copied with every run.
using RunDistributions = std::shared_ptr<const std::vector<LatencyDistribution>>;

/// In the place of an error: its user did not want to wait for it.
inline constexpr std::string_view kSkipped = "skipped";

/// What became of a cell: samples [repeat][metric], NaN where nothing could be seen, or why it has no result.
struct CellResult {
  std::vector<std::vector<double>> samples;
  std::string error;                              ///< of a failure, or kSkipped
  std::vector<MachineWarning> warnings{};         ///< the worst of its runs
  std::vector<RunDistributions> distributions{};  ///< of its runs; of those measured before they were kept there are none
  std::vector<std::vector<SweepTrial>> trials{};  ///< of a load of saturation: those of each run
  std::vector<double> samples_of(std::size_t metric) const;  ///< that could be seen
  Estimate estimate_of(std::size_t metric) const;
  LatencyDistribution distribution_of(std::size_t latency) const;  ///< of all its runs
  /// Of a metric that is a checksum: the number that all runs have, else those of all runs with blanks between; empty: none
  /// was seen.
  std::string checksums_of(std::size_t metric) const;
  /// It failed, has all its repeats, or the interval of the first of main_metrics() is as narrow as the plan asks.
  bool is_done(const SweepPlan& plan) const;
  bool is_skipped() const { return error == kSkipped; }
  bool has_failed() const { return !error.empty() && !is_skipped(); }
  std::string error_text() const { return is_skipped() ? error : "failed: " + error; }  ///< requires: there is an error
};

struct SweepReport {
  std::map<std::size_t, CellResult> cells;  ///< by index; those not reached are missing
  bool stopped = false;
  double seconds = 0;
  std::vector<MachineWarning> warnings() const;  ///< the worst of all cells
  std::size_t n_failed() const;
  std::size_t n_skipped() const;
};

/// What a metric says of a cell beside another one: a difference counts when its 95 % interval (Welch) leaves out zero.
enum class Verdict : std::uint8_t {
  unknown,  ///< one of them has no result, or both have a single run
  better,
  worse,
  noise
};
Verdict compare(const CellResult& cell, const CellResult& baseline, std::size_t metric);

/// Whether a cell has kept that latency of its requests.
bool has_distribution(const SweepReport& report, std::size_t latency);

/// Place of a metric in sweep_metrics(). Requires: there is one of that name.
std::size_t metric_index(std::string_view name);

/// Whether it sends conversations of more than one turn.
bool has_turns(const SweepPlan& plan);
/// Whether it searches the highest rate in a cell.
bool has_saturation(const SweepPlan& plan);
/// Metrics of a table for people, by what the plan measures; the first is that of verdicts.
std::span<const std::string_view> main_metrics(const SweepPlan& plan);
/// Cells that no other beats in both metrics, in the order of the first.
std::vector<std::size_t> pareto_front(const SweepReport& report, std::size_t metric, std::size_t over);

/// {"plan", "cells": [{"variables", "metrics": {name: {"mean", "ci95" (null: none), "n", "samples"}} or "error"}], ...},
/// with "checksum" instead of "mean" and "ci95" where a metric is one, with "distributions" {latency: {"n", "quantiles":
/// [[share, value], ...]}} where they were kept, with "trials" of each run where a highest rate was searched, with
/// "warnings" where the machine gave some: of a cell the values by guard, of all the words too; and "machine", this one.
engine::OrderedJson to_json(const SweepPlan& plan, const SweepReport& report);
/// A line a cell: variables, then mean and half width of each metric (a checksum alone), then the error.
std::string to_csv(const SweepPlan& plan, const SweepReport& report);
/// A table of the main metrics, a row a cell.
std::string to_markdown(const SweepPlan& plan, const SweepReport& report);

/// How one cell is measured again: its plan as JSON, and as a command line.
engine::OrderedJson cell_plan_json(const SweepPlan& plan, std::size_t cell);
std::string cell_command(const SweepPlan& plan, std::size_t cell);
/// One request as the cell sends them, of its mean lengths and with its sampling, for the plan's target or else the server
/// at `base_url`, as a command line. Its prompt is of ids that every vocabulary has, whatever those of the cell are.
std::string cell_curl(const SweepPlan& plan, std::size_t cell, const std::string& base_url);

}  // namespace lathe::app
