// SPDX-License-Identifier: Apache-2.0
// SweepJournal: what a sweep has measured so far, line by line in a file, so that a crash loses nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// Owns: the open file. First line: the plan; then one JSON object a run or failure. A line that a crash has cut is dropped,
/// and cells that had failed are tried again: what they lacked may be there now.
class SweepJournal {
 public:
  /// Starts a journal, or with `resume` goes on with one of the same plan. Path empty: nothing is kept.
  /// Errors: invalid_argument when the file exists and is not to be resumed, or belongs to another plan, which then says in
  /// what it differs.
  static engine::Result<SweepJournal> open(const std::string& path, const SweepPlan& plan, bool resume);
  /// The plan of a journal on the disk. Errors: not_found; invalid_argument when it is none.
  static engine::Result<SweepPlan> plan_in(const std::string& path);
  /// What it holds, without changing it. Errors: as open().
  static engine::Result<std::map<std::size_t, CellResult>> cells_in(const std::string& path, const SweepPlan& plan);
  /// Its plan gets that name; the file keeps its time. Errors: as open(); conflict while somebody writes it.
  static engine::Result<void> rename(const std::string& path, const std::string& name);
  /// Errors: not_found; invalid_argument when it is none; conflict while somebody writes it.
  static engine::Result<void> remove(const std::string& path);
  SweepJournal(SweepJournal&& other) noexcept;
  SweepJournal& operator=(SweepJournal&&) = delete;
  ~SweepJournal();

  const std::map<std::size_t, CellResult>& cells() const { return cells_; }
  /// Both are on the disk when they return. Errors: resource_exhausted.
  engine::Result<void> add_sample(std::size_t cell, std::vector<double> metrics,
                                  std::span<const MachineWarning> warnings = {},
                                  std::vector<LatencyDistribution> distributions = {},
                                  std::vector<SweepTrial> trials = {});
  engine::Result<void> add_failure(std::size_t cell, std::string error);

 private:
  SweepJournal() = default;
  engine::Result<void> read(const std::string& text, const std::string& plan_line, const std::string& path);
  engine::Result<void> append(const std::string& line);

  int file_ = -1;
  std::map<std::size_t, CellResult> cells_;
};

}  // namespace lathe::app
