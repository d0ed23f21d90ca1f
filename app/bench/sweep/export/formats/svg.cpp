// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_export.h"
#include "app/bench/sweep/export/reordered_sweep.h"

namespace lathe::app {
namespace {

std::string write_svg(const SweepPlan& plan, const SweepReport& report, const ChartChoice& chart) {
  if (chart.latency) return distribution_svg(plan, report, *chart.latency);
  const ReorderedSweep shown = reordered(plan, report, chart.axis.value_or(plan.variables.size()));
  return chart_svg(shown.plan, shown.report, chart.metric, chart.over);
}

}  // namespace

extern constexpr ExportFormat kSvgExport{
    .name = "svg",
    .title = "SVG",
    .ending = "svg",
    .help =
        "Also write a chart as SVG to this file: tok/s over the last variable; max_rate with load saturation; divergence "
        "over tok/s with a quality dataset.",
    .is_printed = false,
    .write = write_svg,
};

}  // namespace lathe::app
