// SPDX-License-Identifier: Apache-2.0
// Runs a sweep: loads the engine that each cell needs, measures it, and records the results in a journal.
#pragma once

#include <functional>
#include <vector>

#include "app/api/sweeper.h"
#include "app/bench/sweep/result/sweep_journal.h"

namespace lathe::app {

enum class SweepDecision : std::uint8_t { go_on, skip_cell, stop };

/// Called many times a second during a measurement, and with `between_runs`, when it may block, before each run, load and
/// evaluation.
using SweepObserver = std::function<SweepDecision(const SweepProgress& now, bool between_runs)>;

/// A cell that fails is recorded with its reason, and the sweep goes on. A stop keeps all completed runs. Errors: those of
/// the journal; invalid_argument of the plan.
engine::Result<SweepReport> run_sweep(const SweepPlan& plan, SweepJournal& journal, const EngineLoader& loader,
                                      const SweepObserver& observer, const SweepPlaces& places = {});

/// Returns the cells in the order in which they are measured: cells that share an engine are consecutive; the order is drawn
/// from the seed if the plan shuffles.
std::vector<std::size_t> order_of(const SweepPlan& plan);

}  // namespace lathe::app
