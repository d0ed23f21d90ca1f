// SPDX-License-Identifier: Apache-2.0
#include "app/api/kept_sweeps.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/bench/sweep/result/sweep_journal.h"

namespace lathe::app {
namespace {

namespace fs = std::filesystem;
using engine::Result;

std::string subject_of(const SweepPlan& plan) {
  if (!plan.target.url.empty()) return plan.target.url;
  const fs::path model(plan.options.model);
  return (model.has_filename() ? model.filename() : model.parent_path().filename()).string();
}

/// Milliseconds since 1970; 0: unknown.
std::int64_t last_change_of(const std::string& path) {
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  if (error) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::file_clock::to_sys(changed).time_since_epoch())
      .count();
}

}  // namespace

Result<SweepRecord> read_sweep(const std::string& path) {
  LATHE_TRY(SweepPlan plan, SweepJournal::plan_in(path));
  LATHE_TRY_VOID(check(plan));
  LATHE_TRY(auto cells, SweepJournal::cells_in(path, plan));
  return SweepRecord{.plan = std::move(plan), .report = {.cells = std::move(cells), .stopped = false, .seconds = 0}};
}

Result<SweepFacts> facts_of_sweep(const std::string& path) {
  LATHE_TRY(const SweepRecord record, read_sweep(path));
  SweepFacts facts;
  facts.kept = {.path = path,
                .name = record.plan.name,
                .unix_ms = last_change_of(path),
                .cells_done = 0,
                .cells_total = n_cells(record.plan)};
  facts.subject = subject_of(record.plan);
  for (const SweepVariable& variable : record.plan.variables) facts.variables.push_back(variable.name);
  for (const auto& [index, cell] : record.report.cells) {
    if (cell.is_done(record.plan)) ++facts.kept.cells_done;
  }
  facts.cells_failed = record.report.n_failed();
  facts.cells_skipped = record.report.n_skipped();
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  facts.bytes = error ? 0 : static_cast<std::int64_t>(bytes);
  return facts;
}

std::vector<SweepFacts> facts_of_sweeps(const std::vector<KeptSweep>& kept) {
  std::vector<SweepFacts> all;
  for (const KeptSweep& sweep : kept) {
    if (auto facts = facts_of_sweep(sweep.path)) all.push_back(std::move(*facts));
  }
  return all;
}

Result<void> rename_sweep(const std::string& path, const std::string& name) { return SweepJournal::rename(path, name); }

Result<void> remove_sweep(const std::string& path) { return SweepJournal::remove(path); }

}  // namespace lathe::app
