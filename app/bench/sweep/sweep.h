// SPDX-License-Identifier: Apache-2.0
// Runs a sweep: loads the engine that each cell asks for, measures it, and keeps what came of it.
#pragma once

#include <functional>
#include <vector>

#include "app/api/sweeper.h"
#include "app/bench/sweep/sweep_journal.h"

namespace lathe::app {

enum class SweepDecision : std::uint8_t { go_on, skip_cell, stop };

/// Asked many times a second while something is measured, and once with `between_runs` before each run, where it may wait.
using SweepObserver = std::function<SweepDecision(const SweepProgress& now, bool between_runs)>;

/// Cells that fail are recorded with their reason, and the sweep goes on. After a stop what is measured is kept.
/// Errors: those of the journal; invalid_argument of the plan.
engine::Result<SweepReport> run_sweep(const SweepPlan& plan, SweepJournal& journal, const EngineLoader& loader,
                                      const SweepObserver& observer, const SweepPlaces& places = {});

/// Cells in the order in which they are measured: those that share an engine follow each other, drawn from the seed.
std::vector<std::size_t> order_of(const SweepPlan& plan);

}  // namespace lathe::app
