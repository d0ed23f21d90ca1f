// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/api/sweep_export.h"

namespace lathe::app {
namespace {

/// True for intervals, which have a column next to their metric.
bool is_interval(const SweepMetric& metric) { return metric.name.ends_with("_ci95"); }

/// Quotes a CSV field. Source: RFC 4180.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string to_csv(const SweepPlan& plan, const SweepReport& report) {
  std::string csv;
  for (const SweepVariable& variable : plan.variables) csv += csv_field(variable.name) + ",";
  for (const SweepMetric& metric : sweep_metrics()) {
    if (is_interval(metric)) continue;
    csv += metric.is_checksum() ? fmt::format("{},", metric.name) : fmt::format("{0},{0}_ci95,", metric.name);
  }
  csv += "n,error\r\n";
  for (const auto& [index, result] : report.cells) {
    for (const auto& [name, value] : values_of(plan, index)) csv += csv_field(value) + ",";
    for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
      if (is_interval(sweep_metrics()[i])) continue;
      const Estimate together = result.estimate_of(i);
      csv += sweep_metrics()[i].is_checksum() ? result.checksums_of(i) + ","
             : together.n == 0                ? ",,"
             : together.has_interval()        ? fmt::format("{:.6g},{:.6g},", together.mean, together.half_width)
                                              : fmt::format("{:.6g},,", together.mean);
    }
    csv += fmt::format("{},{}\r\n", result.samples.size(), csv_field(result.error));
  }
  return csv;
}

extern constexpr ExportFormat kCsvExport{
    .name = "csv",
    .title = "CSV",
    .ending = "csv",
    .help = "Print CSV on stdout, one line per cell.",
    .is_printed = true,
    .write = [](const SweepPlan& plan, const SweepReport& report, const ChartChoice&) { return to_csv(plan, report); },
};

}  // namespace lathe::app
