// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace lathe::app {
namespace {

/// True for variables that require another engine; all others belong to a request or to the load.
bool needs_load(std::string_view name) {
  const auto table = engine::engine_option_table();
  return std::any_of(table.begin(), table.end(), [&](const auto& option) { return option.name == name; });
}

std::string subject_of(const SweepPlan& plan) {
  return plan.target.url.empty() ? plan.options.model : plan.target.url + " " + plan.target.model;
}

/// Settings that change the time of a token by a factor.
std::string format_of(const SweepPlan& plan, const engine::EngineOptions& options) {
  std::string format;
  if (!plan.target.url.empty()) return format;
  for (const std::string_view name : {"quantization", "dtype", "device", "isa", "threads"})
    format += fmt::format("{}={};", name, get_option(options, name));
  return format;
}

bool is_open(const SweepWorkload& work) { return work.pattern() != LoadPattern::concurrency; }

std::int64_t at_a_time(const SweepWorkload& work) {
  const std::int64_t n = work.n_requests();
  return is_open(work) ? n : std::min(n, work.concurrency);
}

/// Distance between two workloads in doublings of loads and lengths. The rate of an open load is that of its arrivals, not
/// of the engine, so a rate of the other kind counts as eight doublings further away.
double distance(const KnownRate& rate, const SweepWorkload& work, const std::string& policy) {
  const auto doublings = [](double a, double b) { return std::fabs(std::log2(std::max(a, 1e-3) / std::max(b, 1e-3))); };
  const auto of_counts = [&](std::int64_t a, std::int64_t b) {
    return doublings(static_cast<double>(a), static_cast<double>(b));
  };
  double far = of_counts(rate.workload.prompt_tokens, work.prompt_tokens) / 2 +
               of_counts(rate.workload.output_tokens, work.output_tokens) / 2 + (rate.policy == policy ? 0 : 1);
  if (is_open(rate.workload) != is_open(work)) return far + 8;
  return far +
         (is_open(work) ? doublings(rate.workload.rate, work.rate) : of_counts(at_a_time(rate.workload), at_a_time(work)));
}

const KnownRate* nearest(const std::vector<const KnownRate*>& rates, const std::string& format, const SweepCell& cell) {
  const KnownRate* best = nullptr;
  double least = INFINITY;
  for (const KnownRate* rate : rates) {
    if (rate->format != format) continue;
    const double far = distance(*rate, cell.workload, cell.options.policy);
    if (far >= least) continue;
    least = far;
    best = rate;
  }
  return best;
}

/// Estimated time of one run of a cell: the time of its tokens or of its arrivals, whichever is longer, and its think times.
double run_seconds(const SweepWorkload& work, double tok_s) {
  const auto n = static_cast<double>(work.n_requests());
  const auto turns = static_cast<double>(work.turns);
  const double busy = n * turns * static_cast<double>(work.output_tokens) / tok_s;
  const double seconds = std::max(busy, is_open(work) ? n / work.rate : 0) +
                         n / static_cast<double>(at_a_time(work)) * (turns - 1) * work.think_time;
  return work.max_seconds > 0 ? std::min(seconds, work.max_seconds) : seconds;
}

bool is_measured(const SweepReport* report, const SweepPlan& plan, std::size_t index) {
  if (report == nullptr) return false;
  const auto found = report->cells.find(index);
  return found != report->cells.end() && found->second.is_done(plan);
}

std::optional<double> seen(const CellResult& cell, std::string_view metric) {
  const Estimate value = cell.estimate_of(metric_index(metric));
  return value.n > 0 ? std::optional(value.mean) : std::nullopt;
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

std::vector<KnownRate> known_rates(const SweepPlan& plan, const SweepReport& report) {
  std::vector<KnownRate> rates;
  for (const auto& [index, result] : report.cells) {
    const std::optional<double> tok_s = seen(result, "output_tok_s");
    const auto cell = cell_of(plan, index);
    if (!result.error.empty() || !tok_s || *tok_s <= 0 || !cell) continue;
    rates.push_back({.subject = subject_of(plan),
                     .format = format_of(plan, cell->options),
                     .policy = cell->options.policy,
                     .workload = cell->workload,
                     .tok_s = *tok_s,
                     .load_s = seen(result, "load_s"),
                     .quality_dataset = plan.quality_dataset,
                     .quality_s = seen(result, "quality_s")});
  }
  return rates;
}

std::vector<KnownRate> known_rates(const std::vector<KeptSweep>& kept) {
  std::vector<KnownRate> all;
  for (const KeptSweep& sweep : kept) {
    const auto record = read_sweep(sweep.path);
    if (!record) continue;
    for (KnownRate& rate : known_rates(record->plan, record->report)) {
      if (all.size() == kMostKnownRates) return all;
      all.push_back(std::move(rate));
    }
  }
  return all;
}

std::optional<double> estimated_seconds(const SweepPlan& plan, std::span<const KnownRate> rates,
                                        const SweepReport* measured) {
  if (has_saturation(plan)) return std::nullopt;  // the number and rates of the trials are unknown before the search
  std::vector<const KnownRate*> ours;
  for (const KnownRate& rate : rates) {
    const bool tells = plan.quality_dataset.empty() || (rate.quality_dataset == plan.quality_dataset && rate.quality_s);
    if (rate.subject == subject_of(plan) && tells) ours.push_back(&rate);
  }
  double seconds = 0;
  std::set<std::string> loaded;
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    if (is_measured(measured, plan, index)) continue;
    const auto cell = cell_of(plan, index);
    if (!cell) continue;  // the cell fails at once
    const KnownRate* const rate = nearest(ours, format_of(plan, cell->options), *cell);
    if (rate == nullptr || cell->workload.pattern() == LoadPattern::replay) return std::nullopt;
    seconds += run_seconds(cell->workload, rate->tok_s) * static_cast<double>(plan.repeats + (plan.warm_up ? 1 : 0));
    if (!loaded.insert(load_key(plan, index)).second) continue;
    if (plan.target.url.empty()) seconds += rate->load_s.value_or(0);
    if (!plan.quality_dataset.empty()) seconds += *rate->quality_s;
  }
  return ours.empty() ? std::nullopt : std::optional(seconds);
}

}  // namespace lathe::app
