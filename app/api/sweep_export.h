// SPDX-License-Identifier: Apache-2.0
// Sweep export: a sweep as an HTML page, and its charts as SVG.
#pragma once

#include <optional>
#include <string>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// Standalone SVG: a metric over the last variable with its 95 % intervals, and a line for each combination of the others;
/// or with `over` one metric against another, with a point for each cell and the Pareto front.
std::string chart_svg(const SweepPlan& plan, const SweepReport& report, std::size_t metric,
                      std::optional<std::size_t> over = {});

/// Standalone SVG: cumulative distribution of a latency, with a line for each cell; the axis is logarithmic if values are
/// far apart (kRatiosFrom).
std::string distribution_svg(const SweepPlan& plan, const SweepReport& report, std::size_t latency);

/// Standalone HTML file: table, charts, plan, machine and the definitions of the metrics.
std::string to_html(const SweepPlan& plan, const SweepReport& report);

}  // namespace lathe::app
