// SPDX-License-Identifier: Apache-2.0
// ReorderedSweep: a sweep whose variables are in another order, with its cells renumbered.
#pragma once

#include "app/api/sweep_report.h"

namespace lathe::app {

struct ReorderedSweep {
  SweepPlan plan;
  SweepReport report;
};
/// Moves the variable of index `last` to the end, where drawings have the variable of their horizontal axis. An index beyond
/// the variables changes nothing.
ReorderedSweep reordered(const SweepPlan& plan, const SweepReport& report, std::size_t last);

}  // namespace lathe::app
