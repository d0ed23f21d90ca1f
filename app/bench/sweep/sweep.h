// SPDX-License-Identifier: Apache-2.0
// Runs a sweep: loads the engine that each cell asks for, measures it, and keeps what came of it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/bench/sweep/sweep_journal.h"
#include "app/bench/sweep/sweep_metrics.h"
#include "app/bench/sweep/sweep_plan.h"

namespace lathe::app {

/// Where a sweep stands.
struct SweepProgress {
  std::size_t cells_done = 0, cells_total = 0;
  std::size_t cell = 0;         ///< that is measured now
  std::int64_t repeat = 0;      ///< of it; 0: the warm-up
  std::string doing;            ///< "loading", "warming up", "measuring"
  double seconds = 0;           ///< since the sweep began
  double seconds_left = 0;      ///< by the cells of this run; 0: not known yet
};
/// False stops the sweep: what is measured is kept.
using SweepObserver = std::function<bool(const SweepProgress&)>;

struct SweepReport {
  std::map<std::size_t, CellResult> cells;  ///< by index; those not reached are missing
  bool stopped = false;
  double seconds = 0;
};

/// Cells that fail are recorded with their reason, and the sweep goes on.
/// Errors: those of the journal; invalid_argument of the plan.
engine::Result<SweepReport> run_sweep(const SweepPlan& plan, SweepJournal& journal, const SweepObserver& observer);

/// Cells in the order in which they are measured: those that share an engine follow each other, drawn from the seed.
std::vector<std::size_t> order_of(const SweepPlan& plan);

/// {"plan", "cells": [{"variables", "metrics": {name: {"mean", "ci95", "n", "samples"}} or "error"}], ...}.
engine::OrderedJson to_json(const SweepPlan& plan, const SweepReport& report);
/// A line a cell: variables, then mean and half width of each metric, then the error.
std::string to_csv(const SweepPlan& plan, const SweepReport& report);

}  // namespace lathe::app
