// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lathe::app {
namespace {

using engine::OptionDescriptor;
using Settings = std::map<std::string, std::string, std::less<>>;

/// Returns every setting by name, formatted by its table, so that "08" and "8" are the same block size.
Settings settings_of(const SweepPlan& plan, const engine::EngineOptions& options, const engine::SamplingParams& sampling,
                     const SweepWorkload& workload) {
  Settings all;
  const auto take = [&](std::span<const OptionDescriptor> table, const auto& target) {
    for (const OptionDescriptor& option : table) all[std::string(option.name)] = get_option(target, option.name);
  };
  if (plan.target.url.empty()) take(engine::engine_option_table(), options);
  take(engine::sampling_option_table(), sampling);
  take(workload_option_table(), workload);
  return all;
}

/// Returns the parts of a plan that are not settings and yet decide what is measured.
Settings frame_of(const SweepPlan& plan) {
  return {{"target", plan.target.url},
          {"target_model", plan.target.model},
          {"quality_dataset", plan.quality_dataset},
          {"parse_special", plan.parse_special ? "true" : "false"},
          {"plan_seed", fmt::format("{}", plan.seed)}};
}

std::vector<std::string> varied_by(const SweepPlan& a, const SweepPlan& b) {
  std::vector<std::string> names;
  for (const SweepPlan* plan : {&a, &b}) {
    for (const SweepVariable& variable : plan->variables) {
      if (std::find(names.begin(), names.end(), variable.name) == names.end()) names.push_back(variable.name);
    }
  }
  return names;
}

using Values = std::vector<std::string>;

/// Returns the cell's values of these settings; empty for a setting that the plan does not have (an engine's, on a server
/// measured from outside).
std::optional<Values> values_under(const SweepPlan& plan, std::size_t index, const std::vector<std::string>& names) {
  const auto cell = cell_of(plan, index);
  if (!cell) return {};
  const Settings all = settings_of(plan, cell->options, cell->sampling, cell->workload);
  Values values;
  for (const std::string& name : names) {
    const auto found = all.find(name);
    values.push_back(found == all.end() ? std::string() : found->second);
  }
  return values;
}

std::vector<SettingDifference> differences(Settings a, const Settings& b, const std::vector<std::string>& varied) {
  for (const auto& [name, value] : b) a.try_emplace(name);
  std::vector<SettingDifference> all;
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    const std::string& theirs = other == b.end() ? std::string() : other->second;
    const bool is_fixed = std::find(varied.begin(), varied.end(), name) == varied.end();
    if (is_fixed && value != theirs) all.push_back({name, value, theirs});
  }
  return all;
}

const CellResult* result_of(const SweepReport& report, std::size_t cell) {
  const auto found = report.cells.find(cell);
  return found == report.cells.end() || !found->second.error.empty() ? nullptr : &found->second;
}

}  // namespace

SweepComparison match_sweeps(const SweepPlan& a, const SweepPlan& b) {
  const std::vector<std::string> names = varied_by(a, b);
  SweepComparison both;
  std::map<Values, std::size_t> cells_of_b;
  for (std::size_t i = 0; i < n_cells(b); ++i) {
    if (auto values = values_under(b, i, names)) cells_of_b.try_emplace(std::move(*values), i);
  }
  for (std::size_t i = 0; i < n_cells(a); ++i) {
    const auto values = values_under(a, i, names);
    const auto found = values ? cells_of_b.find(*values) : cells_of_b.end();
    if (found == cells_of_b.end()) continue;
    CellPair& pair = both.cells.emplace_back();
    pair.a = i;
    pair.b = found->second;
    for (std::size_t j = 0; j < names.size(); ++j) pair.values.emplace_back(names[j], (*values)[j]);
    cells_of_b.erase(found);
  }
  both.settings = differences(frame_of(a), frame_of(b), names);
  const auto settings = differences(settings_of(a, a.options, a.sampling, a.workload),
                                    settings_of(b, b.options, b.sampling, b.workload), names);
  both.settings.insert(both.settings.end(), settings.begin(), settings.end());
  return both;
}

MetricComparison compare_metric(const SweepReport& a, const SweepReport& b, const CellPair& cell, std::size_t metric) {
  const CellResult* first = result_of(a, cell.a);
  const CellResult* second = result_of(b, cell.b);
  MetricComparison both;
  if (first != nullptr) both.a = first->estimate_of(metric);
  if (second != nullptr) both.b = second->estimate_of(metric);
  if (both.a.n == 0 || both.b.n == 0) return both;
  if (both.a.mean > 0) both.ratio = both.b.mean / both.a.mean;
  both.verdict = compare(*second, *first, metric);
  return both;
}

std::optional<bool> same_answers(const SweepReport& a, const SweepReport& b, const CellPair& cell) {
  const CellResult* first = result_of(a, cell.a);
  const CellResult* second = result_of(b, cell.b);
  if (first == nullptr || second == nullptr) return {};
  const auto ours = first->samples_of(metric_index("answers")), theirs = second->samples_of(metric_index("answers"));
  if (ours.empty() || theirs.empty()) return {};
  return ours.front() == theirs.front();
}

}  // namespace lathe::app
