// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/export/markup.h"
#include "app/bench/sweep/export/number_text.h"
#include "app/bench/this_machine.h"

namespace lathe::app {
namespace {

constexpr const char* kStyle =
    R"(body{font:14px/1.5 Inter,system-ui,sans-serif;color:#1c222b;margin:32px auto;max-width:1120px;padding:0 16px}
h1{font-size:22px}h2{font-size:16px;margin-top:32px}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:5px 12px;border-bottom:1px solid #dfe3e9;text-align:right}th{font-weight:600}.text{text-align:left}
.ci{color:#5b6472}.failed{color:#b3261e;text-align:left}.skipped{color:#5b6472;text-align:left}.warning{background:#fff4d6;padding:8px 12px}.charts{display:flex;flex-wrap:wrap;gap:16px}pre{background:#f4f6f9;padding:12px;overflow:auto}
)";

std::string cell_row(const SweepPlan& plan, std::size_t index, const CellResult& result) {
  std::string row = "<tr>";
  for (const auto& [name, value] : values_of(plan, index)) row += fmt::format("<td class=\"text\">{}</td>", escaped(value));
  const auto metrics = main_metrics(plan);
  if (!result.error.empty()) {
    return row + fmt::format("<td class=\"{}\" colspan=\"{}\">{}</td></tr>\n", result.is_skipped() ? "skipped" : "failed",
                             metrics.size() + 1, escaped(result.error_text()));
  }
  for (const std::string_view name : metrics) {
    const Estimate value = result.estimate_of(metric_index(name));
    row += value.n == 0           ? "<td></td>"
           : value.half_width > 0 ? fmt::format("<td>{} <span class=\"ci\">± {}</span></td>", number_text(value.mean, 4),
                                                number_text(value.half_width, 2))
                                  : fmt::format("<td>{}</td>", number_text(value.mean, 4));
  }
  return row + fmt::format("<td>{}</td></tr>\n", result.samples.size());
}

std::string html_table(const SweepPlan& plan, const SweepReport& report) {
  std::string html = "<table><thead><tr>";
  for (const SweepVariable& variable : plan.variables)
    html += fmt::format("<th class=\"text\">{}</th>", escaped(variable.name));
  for (const std::string_view name : main_metrics(plan)) {
    const SweepMetric& metric = sweep_metrics()[metric_index(name)];
    html += fmt::format("<th title=\"{}\">{}<br><span class=\"ci\">{}</span></th>", escaped(metric.definition), name,
                        metric.unit);
  }
  html += "<th>n</th></tr></thead><tbody>\n";
  for (const auto& [index, result] : report.cells) html += cell_row(plan, index, result);
  return html + "</tbody></table>\n";
}

std::string charts(const SweepPlan& plan, const SweepReport& report) {
  const bool has_quality = !plan.quality_dataset.empty();
  std::string spread;
  for (const std::string_view name : {"ttft_ms", "itl_ms"}) {
    if (has_distribution(report, latency_index(name))) spread += distribution_svg(plan, report, latency_index(name));
  }
  return "<div class=\"charts\">\n" + chart_svg(plan, report, metric_index("output_tok_s")) +
         (has_quality ? chart_svg(plan, report, metric_index("output_tok_s"), metric_index("kl_mean"))
                      : chart_svg(plan, report, metric_index("ttft_ms_p99")) +
                            chart_svg(plan, report, metric_index("output_tok_s"), metric_index("ttft_ms_p99"))) +
         spread + "</div>\n";
}

std::string warnings(const SweepReport& report) {
  std::string html;
  for (const MachineWarning& warning : report.warnings())
    html += fmt::format("<p class=\"warning\">Warning: {}</p>\n", escaped(text_of(warning)));
  return html;
}

/// Example: " (1 failed, 2 skipped)".
std::string left_out_html(const SweepReport& report) {
  const std::size_t failed = report.n_failed(), skipped = report.n_skipped();
  if (failed + skipped == 0) return {};
  if (skipped == 0) return fmt::format(" ({} failed)", failed);
  return failed == 0 ? fmt::format(" ({} skipped)", skipped) : fmt::format(" ({} failed, {} skipped)", failed, skipped);
}

std::string plan_text(const SweepPlan& plan) {
  const std::string json = engine::dump_json(to_json(plan), 2);
  std::string lines;
  for (std::size_t at = 0, end = 0; at < json.size(); at = end + 1) {
    end = std::min(json.find('\n', at), json.size());
    lines += escaped(std::string_view(json).substr(at, end - at)) + "\n";
  }
  return lines;
}

}  // namespace

std::string to_html(const SweepPlan& plan, const SweepReport& report) {
  const std::string title = plan.name.empty() ? "Sweep" : plan.name;
  const std::string subject = plan.target.url.empty() ? plan.options.model : plan.target.url + " " + plan.target.model;
  std::string definitions;
  for (const std::string_view name : main_metrics(plan)) {
    const SweepMetric& metric = sweep_metrics()[metric_index(name)];
    definitions += fmt::format("<dt><b>{}</b> ({})</dt><dd>{}</dd>\n", name, metric.unit, escaped(metric.definition));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{1}</style></head><body>\n"
      "<h1>{0}</h1>\n<p>{2}. {3} of {4} cells{13}, at most {5} runs each; means with 95 % confidence intervals.</p>\n"
      "{12}{6}<h2>Charts</h2>\n{7}<h2>Machine</h2>\n<p>{8}{9}</p>\n<h2>Definitions</h2>\n<dl>{10}</dl>\n"
      "<h2>Plan</h2>\n<pre>{11}</pre>\n</body></html>\n",
      escaped(title), kStyle, escaped(subject), report.cells.size(), n_cells(plan), plan.repeats, html_table(plan, report),
      charts(plan, report),
      plan.target.url.empty() ? "" : "The machine that measured, not that of the server: ", escaped(text_of(this_machine())),
      definitions, plan_text(plan), warnings(report), left_out_html(report));
}

extern constexpr ExportFormat kHtmlExport{
    .name = "html",
    .title = "HTML",
    .ending = "html",
    .help = "Also write an HTML page with table, charts, plan and machine to this file.",
    .is_printed = false,
    .write = [](const SweepPlan& plan, const SweepReport& report, const ChartChoice&) { return to_html(plan, report); },
};

}  // namespace lathe::app
