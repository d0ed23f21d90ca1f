// SPDX-License-Identifier: Apache-2.0
// How long a sweep takes, by what was measured.
#pragma once

#include <optional>
#include <string>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// What the engine of a cell is loaded with, as text: cells with the same share an engine, and its quality is measured once.
/// Empty: all of them do.
std::string load_key(const SweepPlan& plan, std::size_t cell);
std::size_t n_loads(const SweepPlan& plan);

/// Seconds of a whole plan at the rates of a report: its runs, its loads, and what the plan asks for in quality. Empty: the
/// report has not all that is needed, or the plan searches a highest rate: nobody knows how many trials that takes.
std::optional<double> estimated_seconds(const SweepPlan& plan, const SweepReport& report);

}  // namespace lathe::app
