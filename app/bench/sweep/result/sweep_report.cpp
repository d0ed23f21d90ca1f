// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace lathe::app {
namespace {

constexpr std::size_t kMinRunsToEnd = 3;  // an interval of two runs is too wide to be useful

}  // namespace

std::vector<double> CellResult::samples_of(std::size_t metric) const {
  std::vector<double> values;
  for (const std::vector<double>& sample : samples) {
    if (!std::isnan(sample[metric])) values.push_back(sample[metric]);
  }
  return values;
}

Estimate CellResult::estimate_of(std::size_t metric) const {
  Estimate value = estimate(samples_of(metric));
  // Every run has the same perplexity: its uncertainty is over the tokens of the text.
  if (metric == metric_index("perplexity")) value.half_width = estimate(samples_of(metric_index("perplexity_ci95"))).mean;
  return value;
}

LatencyDistribution CellResult::distribution_of(std::size_t latency) const {
  std::vector<const LatencyDistribution*> parts;
  for (const RunDistributions& run : distributions) parts.push_back(&(*run)[latency]);
  return merged(parts);
}

bool has_distribution(const SweepReport& report, std::size_t latency) {
  return std::any_of(report.cells.begin(), report.cells.end(), [&](const auto& cell) {
    const auto& runs = cell.second.distributions;
    return cell.second.error.empty() &&
           std::any_of(runs.begin(), runs.end(), [&](const RunDistributions& run) { return (*run)[latency].n > 0; });
  });
}

std::string CellResult::checksums_of(std::size_t metric) const {
  // Samples of a checksum are whole numbers below 2^53, which a double holds exactly.
  const std::vector<double> observed = samples_of(metric);
  std::vector<std::uint64_t> sums(observed.begin(), observed.end());
  if (std::adjacent_find(sums.begin(), sums.end(), std::not_equal_to<>()) == sums.end() && !sums.empty()) sums.resize(1);
  return fmt::format("{}", fmt::join(sums, " "));
}

std::vector<MachineWarning> SweepReport::warnings() const {
  std::vector<MachineWarning> all;
  for (const auto& [index, cell] : cells) keep_worst(all, cell.warnings);
  return all;
}

std::size_t SweepReport::n_failed() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.second.has_failed(); }));
}

std::size_t SweepReport::n_skipped() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.second.is_skipped(); }));
}

bool CellResult::is_done(const SweepPlan& plan) const {
  if (!error.empty() || samples.size() >= static_cast<std::size_t>(plan.repeats)) return true;
  if (plan.stop_at_ci == 0 || samples.size() < kMinRunsToEnd) return false;
  Estimate judged = estimate_of(metric_index(main_metrics(plan).front()));
  // The first metric may be max_rate, which cells of other loads than saturation do not have.
  if (judged.n == 0) judged = estimate_of(metric_index("output_tok_s"));
  return judged.half_width < plan.stop_at_ci * judged.mean;
}

}  // namespace lathe::app
