// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <set>

#include "engine/api/engine.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::OrderedJson;
using engine::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{5};

/// Variables that make another engine; all others are of a request or of the load.
bool needs_load(std::string_view name) {
  const auto table = engine::engine_option_table();
  return std::any_of(table.begin(), table.end(), [&](const auto& option) { return option.name == name; });
}

/// What the engine of a cell is loaded with, as text.
std::string load_key(const SweepPlan& plan, std::size_t index) {
  std::string key;
  for (const auto& [name, value] : values_of(plan, index)) {
    if (needs_load(name)) key += fmt::format("{}={};", name, value);
  }
  return key;
}

class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, SweepJournal& journal, const SweepObserver& observer)
      : plan_(plan), journal_(journal), observer_(observer) {
    progress_.cells_total = n_cells(plan);
  }

  Result<SweepReport> run() {
    for (const std::size_t index : order_of(plan_)) {
      if (is_done(index)) ++progress_.cells_done;
    }
    for (const std::size_t index : order_of(plan_)) {
      if (is_done(index)) continue;
      LATHE_TRY_VOID(measure_cell(index));
      if (stopped_) break;
      ++progress_.cells_done;
      ++n_measured_;
    }
    return SweepReport{.cells = journal_.cells(), .stopped = stopped_, .seconds = seconds()};
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool is_done(std::size_t index) const {
    const auto found = journal_.cells().find(index);
    return found != journal_.cells().end() && found->second.is_done(plan_);
  }

  /// False: the sweep is to stop.
  bool tell(std::string_view doing) {
    progress_.doing = doing;
    progress_.seconds = seconds();
    const std::size_t left = progress_.cells_total - progress_.cells_done;
    progress_.seconds_left = n_measured_ > 0 ? seconds() / static_cast<double>(n_measured_) * static_cast<double>(left) : 0;
    if (observer_ && !observer_(progress_)) stopped_ = true;
    return !stopped_;
  }

  Result<void> measure_cell(std::size_t index) {
    progress_.cell = index;
    const Result<void> measured = try_cell(index);
    if (measured || stopped_) return {};
    if (measured.error().where == kJournal) return measured;
    const engine::Error& error = measured.error();
    return journal_.add_failure(index, error.where.empty() ? error.message : fmt::format("{}: {}", error.where, error.message));
  }

  Result<void> try_cell(std::size_t index) {
    LATHE_TRY(const SweepCell cell, cell_of(plan_, index));
    LATHE_TRY_VOID(load(cell, load_key(plan_, index)));
    if (plan_.warm_up) {
      progress_.repeat = 0;
      LATHE_TRY([[maybe_unused]] const RunRecord warm, run_once(cell, 0, "warming up"));
    }
    const auto found = journal_.cells().find(index);
    const std::size_t n_before = found == journal_.cells().end() ? 0 : found->second.samples.size();
    for (std::size_t repeat = n_before; repeat < static_cast<std::size_t>(plan_.repeats); ++repeat) {
      progress_.repeat = static_cast<std::int64_t>(repeat) + 1;
      LATHE_TRY(const RunRecord record, run_once(cell, repeat + 1, "measuring"));
      const Result<void> kept = journal_.add_sample(index, measure(record, plan_.goal));
      if (!kept) return engine::fail(kept.error().code, kept.error().message, kJournal);
    }
    return {};
  }

  Result<RunRecord> run_once(const SweepCell& cell, std::size_t repeat, std::string_view doing) {
    const std::uint64_t seed = plan_.seed * 1'000'003 + cell.index * 1009 + repeat;
    return run_load(*engine_, cell.workload, cell.sampling, seed, [&] { return tell(doing); });
  }

  Result<void> load(const SweepCell& cell, const std::string& key) {
    if (engine_ != nullptr && key == loaded_key_) return {};
    if (engine_ != nullptr) engine_->shut_down(kGrace);
    engine_.reset();
    LATHE_TRY(engine_, engine::load_engine(cell.options, [&](const engine::LoadProgress&) { return tell("loading"); }));
    loaded_key_ = key;
    return {};
  }

  static constexpr const char* kJournal = "journal";

  const SweepPlan& plan_;
  SweepJournal& journal_;
  const SweepObserver& observer_;
  const Clock::time_point start_ = Clock::now();
  SweepProgress progress_;
  std::size_t n_measured_ = 0;
  bool stopped_ = false;
  std::string loaded_key_;
  std::unique_ptr<engine::Engine> engine_;
};

OrderedJson metrics_json(const CellResult& result) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
    std::vector<double> samples;
    for (const std::vector<double>& sample : result.samples) samples.push_back(sample[i]);
    const Estimate together = estimate(samples);
    json[sweep_metrics()[i].name] = {
        {"mean", together.mean}, {"ci95", together.half_width}, {"n", together.n}, {"samples", samples}};
  }
  return json;
}

/// As RFC 4180 has it.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::vector<std::size_t> order_of(const SweepPlan& plan) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::string, std::size_t> group_of;
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    const auto [place, is_new] = group_of.emplace(load_key(plan, index), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(index);
  }
  std::mt19937_64 random(plan.seed);
  if (plan.shuffle) std::shuffle(groups.begin(), groups.end(), random);
  std::vector<std::size_t> order;
  for (std::vector<std::size_t>& group : groups) {
    if (plan.shuffle) std::shuffle(group.begin(), group.end(), random);
    order.insert(order.end(), group.begin(), group.end());
  }
  return order;
}

Result<SweepReport> run_sweep(const SweepPlan& plan, SweepJournal& journal, const SweepObserver& observer) {
  LATHE_TRY_VOID(check(plan));
  return SweepRun(plan, journal, observer).run();
}

OrderedJson to_json(const SweepPlan& plan, const SweepReport& report) {
  OrderedJson cells = OrderedJson::array();
  for (const auto& [index, result] : report.cells) {
    OrderedJson variables = OrderedJson::object();
    for (const auto& [name, value] : values_of(plan, index)) variables[name] = value;
    OrderedJson cell = {{"variables", variables}};
    if (result.error.empty()) {
      cell["metrics"] = metrics_json(result);
    } else {
      cell["error"] = result.error;
    }
    cells.push_back(std::move(cell));
  }
  OrderedJson definitions = OrderedJson::object();
  for (const SweepMetric& metric : sweep_metrics()) {
    definitions[metric.name] = {{"unit", metric.unit}, {"definition", metric.definition}};
  }
  return {{"plan", to_json(plan)},         {"cells", cells}, {"n_cells", n_cells(plan)}, {"stopped", report.stopped},
          {"seconds", report.seconds}, {"metrics", definitions}};
}

std::string to_csv(const SweepPlan& plan, const SweepReport& report) {
  std::string csv;
  for (const SweepVariable& variable : plan.variables) csv += csv_field(variable.name) + ",";
  for (const SweepMetric& metric : sweep_metrics()) csv += fmt::format("{0},{0}_ci95,", metric.name);
  csv += "n,error\r\n";
  for (const auto& [index, result] : report.cells) {
    for (const auto& [name, value] : values_of(plan, index)) csv += csv_field(value) + ",";
    for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
      std::vector<double> samples;
      for (const std::vector<double>& sample : result.samples) samples.push_back(sample[i]);
      const Estimate together = estimate(samples);
      csv += samples.empty() ? ",," : fmt::format("{:.6g},{:.6g},", together.mean, together.half_width);
    }
    csv += fmt::format("{},{}\r\n", result.samples.size(), csv_field(result.error));
  }
  return csv;
}

}  // namespace lathe::app
