// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "app/api/sweep_export.h"
#include "app/bench/this_machine.h"

namespace lathe::app {
namespace {

using engine::OrderedJson;

/// Converts samples that are whole numbers below 2^53, which a double holds exactly.
std::vector<std::uint64_t> whole(const std::vector<double>& samples) { return {samples.begin(), samples.end()}; }

OrderedJson metrics_json(const CellResult& result) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
    const Estimate together = result.estimate_of(i);
    if (together.n == 0) continue;  // it was not observed
    if (sweep_metrics()[i].is_checksum()) {
      json[sweep_metrics()[i].name] = {
          {"checksum", result.checksums_of(i)}, {"n", together.n}, {"samples", whole(result.samples_of(i))}};
      continue;
    }
    const OrderedJson half_width = together.has_interval() ? OrderedJson(together.half_width) : OrderedJson();
    json[sweep_metrics()[i].name] = {
        {"mean", together.mean}, {"ci95", half_width}, {"n", together.n}, {"samples", result.samples_of(i)}};
  }
  return json;
}

OrderedJson distributions_json(const CellResult& result) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < latencies().size(); ++i) {
    const LatencyDistribution together = result.distribution_of(i);
    if (together.n == 0) continue;
    OrderedJson quantiles = OrderedJson::array();
    for (const Quantile& quantile : together.quantiles()) quantiles.push_back({quantile.share, quantile.value});
    json[latencies()[i].name] = {{"n", together.n}, {"quantiles", std::move(quantiles)}};
  }
  return json;
}

OrderedJson warnings_json(std::span<const MachineWarning> warnings) {
  OrderedJson list = OrderedJson::array();
  for (const MachineWarning& warning : warnings)
    list.push_back({{"guard", warning.guard}, {"value", warning.value}, {"words", text_of(warning)}});
  return list;
}

}  // namespace

OrderedJson to_json(const SweepPlan& plan, const SweepReport& report) {
  OrderedJson cells = OrderedJson::array();
  for (const auto& [index, result] : report.cells) {
    OrderedJson variables = OrderedJson::object();
    for (const auto& [name, value] : values_of(plan, index)) variables[name] = value;
    OrderedJson cell = {{"variables", variables}};
    if (result.error.empty()) {
      cell["metrics"] = metrics_json(result);
      if (!result.distributions.empty()) cell["distributions"] = distributions_json(result);
    } else {
      cell["error"] = result.error;
    }
    for (const std::vector<SweepTrial>& run : result.trials) cell["trials"].push_back(to_json(run));
    if (!result.warnings.empty()) cell["warnings"] = to_json(result.warnings);
    cells.push_back(std::move(cell));
  }
  OrderedJson definitions = OrderedJson::object();
  for (const SweepMetric& metric : sweep_metrics()) {
    definitions[metric.name] = {{"unit", metric.unit}, {"definition", metric.definition}};
  }
  OrderedJson spread = OrderedJson::object();
  for (const Latency& latency : latencies()) spread[latency.name] = {{"unit", "ms"}, {"definition", latency.definition}};
  return {{"plan", to_json(plan)},
          {"cells", cells},
          {"n_cells", n_cells(plan)},
          {"stopped", report.stopped},
          {"seconds", report.seconds},
          {"warnings", warnings_json(report.warnings())},
          {"metrics", definitions},
          {"distributions", spread},
          {"machine", to_json(this_machine())}};
}

extern constexpr ExportFormat kJsonExport{
    .name = "json",
    .title = "JSON",
    .ending = "json",
    .help = "Print one JSON object on stdout.",
    .is_printed = true,
    .write = [](const SweepPlan& plan, const SweepReport& report,
                const ChartChoice&) { return engine::dump_json(to_json(plan, report), 2) + "\n"; },
};

}  // namespace lathe::app
