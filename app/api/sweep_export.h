// SPDX-License-Identifier: Apache-2.0
// A sweep as a page and as drawings that other programs show.
#pragma once

#include <optional>
#include <string>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// An SVG of its own: a metric over the last variable with its 95 % intervals, a line for each combination of the others; or
/// with `over` one metric against another, a point a cell, and the line that nothing beats in both.
std::string chart_svg(const SweepPlan& plan, const SweepReport& report, std::size_t metric,
                      std::optional<std::size_t> over = {});

/// An SVG of its own: which share of a latency is within how many milliseconds, a line a cell; over the ratios of values
/// that are far apart.
std::string distribution_svg(const SweepPlan& plan, const SweepReport& report, std::size_t latency);

/// One HTML file that needs no other: table, charts, plan, machine and the definitions of the metrics.
std::string to_html(const SweepPlan& plan, const SweepReport& report);

}  // namespace lathe::app
