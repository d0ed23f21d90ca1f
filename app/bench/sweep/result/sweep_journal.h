// SPDX-License-Identifier: Apache-2.0
// SweepJournal: file of a sweep's results, written line by line, so that a crash loses no completed run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// Owns: the open file. First line: the plan; then one JSON object for each run or failure. A line that a crash has cut is
/// dropped on resuming, and cells that had failed are tried again: their cause may be gone.
class SweepJournal {
 public:
  /// Starts a journal or, with `resume`, continues one of the same plan. Empty path: nothing is written. Errors:
  /// invalid_argument if the file exists and `resume` is false, or if it belongs to another plan (the message lists the
  /// differences).
  static engine::Result<SweepJournal> open(const std::string& path, const SweepPlan& plan, bool resume);
  /// Reads the plan of a journal file. Errors: not_found; invalid_argument if the file is no journal.
  static engine::Result<SweepPlan> plan_in(const std::string& path);
  /// Reads the results of a journal file without changing it. Errors: as open().
  static engine::Result<std::map<std::size_t, CellResult>> cells_in(const std::string& path, const SweepPlan& plan);
  /// Changes the name of the journal's plan; the file keeps its modification time. Errors: those of plan_in();
  /// invalid_argument if another version of the program wrote it; conflict while a sweep writes it; resource_exhausted.
  static engine::Result<void> rename(const std::string& path, const std::string& name);
  /// Errors: not_found; invalid_argument if the file is no journal or cannot be removed; conflict while a sweep writes it.
  static engine::Result<void> remove(const std::string& path);
  SweepJournal(SweepJournal&& other) noexcept;
  SweepJournal& operator=(SweepJournal&&) = delete;
  ~SweepJournal();

  const std::map<std::size_t, CellResult>& cells() const { return cells_; }
  /// Both return after the line is on the disk. Errors: resource_exhausted.
  engine::Result<void> add_sample(std::size_t cell, std::vector<double> metrics,
                                  std::span<const MachineWarning> warnings = {},
                                  std::vector<LatencyDistribution> distributions = {}, std::vector<SweepTrial> trials = {});
  engine::Result<void> add_failure(std::size_t cell, std::string error);

 private:
  SweepJournal() = default;
  engine::Result<void> read(const std::string& text, const std::string& plan_line, const std::string& path);
  engine::Result<void> append(const std::string& line);

  int file_ = -1;
  std::map<std::size_t, CellResult> cells_;
};

}  // namespace lathe::app
