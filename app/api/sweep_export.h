// SPDX-License-Identifier: Apache-2.0
// ExportFormat: a format in which a sweep is exported (JSON, CSV, Markdown, an HTML page, a chart as SVG), and its writer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/api/sweep_report.h"

namespace lathe::app {

/// The chart that a drawing shows: a metric over a variable, or with `over` over another metric; with `latency` the
/// distribution of that latency instead.
struct ChartChoice {
  std::size_t metric = 0;
  std::optional<std::size_t> over{};     ///< metric of the horizontal axis; none: a variable
  std::optional<std::size_t> axis{};     ///< variable of the horizontal axis; none: the last
  std::optional<std::size_t> latency{};  ///< index in latencies(); the other choices have no effect then
};
/// The chart that fits a plan: the divergence over the speed if the plan measures quality, else the highest rate (load
/// saturation) or the speed, over the last variable.
ChartChoice usual_chart(const SweepPlan& plan);

/// A format in which a sweep is exported.
struct ExportFormat {
  std::string_view name;    ///< "markdown": `lathe sweep` has the flag --markdown
  std::string_view title;   ///< "Markdown": name for people
  std::string_view ending;  ///< "md": of file names
  std::string_view help;    ///< one sentence: help of the flag
  bool is_printed;          ///< true: the command line prints it to stdout; false: its flag names the file to write
  std::string (*write)(const SweepPlan& plan, const SweepReport& report, const ChartChoice& chart);
};
/// All export formats, in the order of the flags of `lathe sweep` and of the window's menu.
std::span<const ExportFormat* const> export_formats();

/// JSON of a sweep: {"plan", "cells": [{"variables", "metrics": {name: {"mean", "ci95" (null: none), "n", "samples"}} or
/// "error"}], ...}, with "checksum" instead of "mean" and "ci95" for a checksum; with "distributions" {latency: {"n",
/// "quantiles": [[share, value], ...]}} if there are any; with "trials" of each run for load saturation; with "warnings" if
/// there are any, for a cell the values by guard, for the sweep also as text; and with "machine", this machine.
engine::OrderedJson to_json(const SweepPlan& plan, const SweepReport& report);
/// CSV with a line for each cell: variables, then mean and half width of each metric (or its checksum), then the error.
std::string to_csv(const SweepPlan& plan, const SweepReport& report);
/// Markdown table of the main metrics, with a row for each cell.
std::string to_markdown(const SweepPlan& plan, const SweepReport& report);
/// Standalone HTML file: table, charts, plan, machine and the definitions of the metrics.
std::string to_html(const SweepPlan& plan, const SweepReport& report);

/// Standalone SVG: a metric over the last variable with its 95 % intervals, and a line for each combination of the others;
/// or with `over` one metric against another, with a point for each cell and the Pareto front.
std::string chart_svg(const SweepPlan& plan, const SweepReport& report, std::size_t metric,
                      std::optional<std::size_t> over = {});
/// Standalone SVG: cumulative distribution of a latency, with a line for each cell; the axis is logarithmic if values are
/// far apart (kRatiosFrom).
std::string distribution_svg(const SweepPlan& plan, const SweepReport& report, std::size_t latency);

}  // namespace lathe::app
