// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lathe::app {
namespace {

/// Variables that make another engine; all others are of a request or of the load.
bool needs_load(std::string_view name) {
  const auto table = engine::engine_option_table();
  return std::any_of(table.begin(), table.end(), [&](const auto& option) { return option.name == name; });
}

/// The mean over all cells in which the metric was seen.
std::optional<double> mean_of(const SweepReport& report, std::string_view metric) {
  double sum = 0;
  int n = 0;
  for (const auto& [index, cell] : report.cells) {
    const Estimate value = cell.estimate_of(metric_index(metric));
    if (!cell.error.empty() || value.n == 0) continue;
    sum += value.mean;
    ++n;
  }
  return n > 0 ? std::optional(sum / n) : std::nullopt;
}

/// Of one run of a cell: as long as its tokens take, and as its load lasts.
double run_seconds(const SweepWorkload& work, double tok_s) {
  const auto n = static_cast<double>(work.n_requests());
  const auto turns = static_cast<double>(work.turns);
  const bool has_rate = work.pattern() == LoadPattern::constant_rate || work.pattern() == LoadPattern::poisson;
  const double at_a_time = has_rate ? n : std::min(n, static_cast<double>(work.concurrency));
  const double busy = n * turns * static_cast<double>(work.output_tokens) / tok_s;
  return std::max(busy, has_rate ? n / work.rate : 0) + n / at_a_time * (turns - 1) * work.think_time;
}

}  // namespace

std::string load_key(const SweepPlan& plan, std::size_t cell) {
  std::string key;
  for (const auto& [name, value] : values_of(plan, cell)) {
    if (needs_load(name)) key += fmt::format("{}={};", name, value);
  }
  return key;
}

std::size_t n_loads(const SweepPlan& plan) {
  std::set<std::string> keys;
  for (std::size_t cell = 0; cell < n_cells(plan); ++cell) keys.insert(load_key(plan, cell));
  return keys.size();
}

std::optional<double> estimated_seconds(const SweepPlan& plan, const SweepReport& report) {
  const auto tok_s = mean_of(report, "output_tok_s");
  if (!tok_s || *tok_s <= 0) return std::nullopt;
  if (has_saturation(plan)) return std::nullopt;  // how many trials it takes, and at which rates, is what is searched
  double once = 0;                                // of each engine
  if (plan.target.url.empty()) once += mean_of(report, "load_s").value_or(0);
  if (!plan.quality_dataset.empty()) {
    const auto quality = mean_of(report, "quality_s");
    if (!quality) return std::nullopt;
    once += *quality;
  }
  double seconds = once * static_cast<double>(n_loads(plan));
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    const auto cell = cell_of(plan, index);
    if (cell) seconds += run_seconds(cell->workload, *tok_s) * static_cast<double>(plan.repeats + (plan.warm_up ? 1 : 0));
  }
  return seconds;
}

}  // namespace lathe::app
