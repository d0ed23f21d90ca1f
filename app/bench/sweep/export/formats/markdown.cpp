// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/api/sweep_export.h"
#include "app/bench/sweep/export/number_text.h"

namespace lathe::app {
namespace {

/// Escapes text for a cell of a Markdown table.
std::string markdown_field(std::string_view text) {
  std::string field;
  for (const char c : text) {
    if (c == '|' || c == '\\') field += '\\';
    field += c == '\n' || c == '\r' ? ' ' : c;
  }
  return field;
}

}  // namespace

std::string to_markdown(const SweepPlan& plan, const SweepReport& report) {
  std::string text = "|", line = "|";
  const auto add_column = [&](std::string_view title, std::string_view rule) {
    text += fmt::format(" {} |", markdown_field(title));
    line += fmt::format("{}|", rule);
  };
  for (const SweepVariable& variable : plan.variables) add_column(variable.name, "---");
  for (const std::string_view name : main_metrics(plan)) {
    add_column(fmt::format("{} ({})", name, sweep_metrics()[metric_index(name)].unit), "---:");
  }
  add_column("n", "---:");
  text += "\n" + line + "\n";
  for (const auto& [index, result] : report.cells) {
    text += "|";
    for (const auto& [name, value] : values_of(plan, index)) text += fmt::format(" {} |", markdown_field(value));
    for (const std::string_view name : main_metrics(plan)) {
      const Estimate value = result.estimate_of(metric_index(name));
      const bool has_error = !result.error.empty(), is_first = name == main_metrics(plan).front();
      text += has_error      ? (is_first ? fmt::format(" {} |", markdown_field(result.error_text())) : " |")
              : value.n == 0 ? " |"
              : value.has_interval()
                  ? fmt::format(" {} ± {} |", number_text(value.mean, 4), number_text(value.half_width, 2))
                  : fmt::format(" {} |", number_text(value.mean, 4));
    }
    text += fmt::format(" {} |\n", result.samples.size());
  }
  for (const MachineWarning& warning : report.warnings()) text += fmt::format("\n> Warning: {}\n", text_of(warning));
  return text;
}

extern constexpr ExportFormat kMarkdownExport{
    .name = "markdown",
    .title = "Markdown",
    .ending = "md",
    .help = "Print a table in Markdown on stdout.",
    .is_printed = true,
    .write = [](const SweepPlan& plan, const SweepReport& report, const ChartChoice&) { return to_markdown(plan, report); },
};

}  // namespace lathe::app
