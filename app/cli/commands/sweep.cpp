// SPDX-License-Identifier: Apache-2.0
// lathe sweep: measures the same workload under every combination of some settings.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/api/sweep_estimate.h"
#include "app/api/sweep_export.h"
#include "app/bench/sweep/load/sweep.h"
#include "app/cli/model_command.h"
#include "app/cli/sweep_flags.h"
#include "app/log/printable.h"
#include "app/workbench/cached_loader.h"

namespace lathe::app {

extern const Command kSweepCommand;

namespace {

using engine::ErrorCode;
using engine::Result;

std::string values_text(const SweepPlan& plan, std::size_t cell) {
  std::string text;
  for (const auto& [name, value] : values_of(plan, cell))
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "the only cell" : text;
}

std::string with_interval(const Estimate& value) {
  if (value.n == 0) return "-";
  return value.has_interval() ? fmt::format("{:.2f} +- {:.2f}", value.mean, value.half_width)
                              : fmt::format("{:.2f}", value.mean);
}

std::string table(const SweepPlan& plan, const SweepReport& report) {
  constexpr std::string_view kUsual[] = {"output_tok_s", "ttft_ms_p50", "itl_ms_p50", "itl_ms_p99", "e2e_ms_mean"};
  const bool is_usual = plan.quality_dataset.empty() && !has_turns(plan) && !has_saturation(plan);
  const std::span<const std::string_view> shown = is_usual ? kUsual : main_metrics(plan);
  std::string text;
  const auto width = [](std::string_view name) { return std::max<std::size_t>(18, name.size() + 2); };
  for (const SweepVariable& variable : plan.variables) text += fmt::format("{:<{}}", variable.name, width(variable.name));
  for (const std::string_view name : shown) text += fmt::format("{:>20}", name);
  text += "\n";
  for (const auto& [index, result] : report.cells) {
    for (const auto& [name, value] : values_of(plan, index))
      text += fmt::format("{:<{}}", printable(value, width(name) - 1), width(name));
    if (!result.error.empty()) {
      text += printable(result.error_text(), 200) + "\n";
      continue;
    }
    for (const std::string_view name : shown) {
      text += fmt::format("{:>20}", with_interval(result.estimate_of(metric_index(name))));
    }
    text += "\n";
  }
  return text;
}

tl::unexpected<engine::Error> unwritten(ErrorCode code, const ExportFormat& format, const std::string& path) {
  const char* const reason = errno == 0 ? "the disk is full" : std::strerror(errno);
  return engine::fail(code, fmt::format("the file {} cannot be written: {}", path, reason), flag_of(format.name));
}

/// Checks before the sweep that a file can be written, and leaves no new file behind.
Result<void> check_file(const ExportFormat& format, const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  // A dangling link belongs to the user, too, and is not removed.
  const bool was_there = std::filesystem::exists(std::filesystem::symlink_status(path, error));
  errno = 0;
  const bool is_open = std::ofstream(path, std::ios::binary | std::ios::app).is_open();
  if (!is_open) return unwritten(ErrorCode::invalid_argument, format, path);
  if (!was_there) std::filesystem::remove(path, error);
  return {};
}

Result<void> check_outputs(const SweepFlags& flags) {
  for (const ExportFormat* format : export_formats()) {
    if (!format->is_printed) LATHE_TRY_VOID(check_file(*format, flags.files.at(format->name)));
  }
  return {};
}

Result<void> write_outputs(const SweepFlags& flags, const SweepPlan& plan, const SweepReport& report) {
  for (const ExportFormat* format : export_formats()) {
    if (format->is_printed || flags.files.at(format->name).empty()) continue;
    const std::string& path = flags.files.at(format->name);
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file << format->write(plan, report, usual_chart(plan));
    if (!file.flush()) return unwritten(ErrorCode::resource_exhausted, *format, path);
  }
  return {};
}

/// Returns the first printed format that is asked for, or the table for terminals.
std::string printed(const SweepFlags& flags, const SweepPlan& plan, const SweepReport& report) {
  for (const ExportFormat* format : export_formats()) {
    if (format->is_printed && flags.printed.at(format->name)) return format->write(plan, report, usual_chart(plan));
  }
  return table(plan, report);
}

/// Reports each exceeded guard of the machine once, as soon as it is seen: the user may still be able to remove its cause.
class MachineNotes {
 public:
  explicit MachineNotes(ModelCommand& command) : command_(command) {}

  void tell(const SweepJournal& journal) {
    for (const auto& [index, cell] : journal.cells()) {
      for (const MachineWarning& warning : cell.warnings) {
        if (!told_.insert(warning.guard).second) continue;
        command_.progress({});
        command_.print_note("Warning: " + text_of(warning));
      }
    }
  }

 private:
  ModelCommand& command_;
  std::set<std::string_view> told_;
};

/// Warns of options without effect in every cell.
void warn_of_idle(ModelCommand& command, const SweepPlan& plan) {
  if (!plan.target.url.empty()) return;
  std::vector<engine::EngineOptions> all;
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    if (auto cell = cell_of(plan, index)) all.push_back(std::move(cell->options));
  }
  command.warn_of_idle(all);
}

/// Estimates the remaining time from kept sweeps and the journal, until the first completed cell lets the sweep report its
/// own.
class TimeLeft {
 public:
  TimeLeft(ModelCommand& command, const SweepPlan& plan, const SweepJournal& journal) {
    const SweepReport measured{.cells = journal.cells(), .stopped = false, .seconds = 0};
    std::vector<KnownRate> rates = known_rates(plan, measured);
    if (plan.target.url.empty()) {
      const auto kept = known_rates(command.workbench().sweeper().kept());
      rates.insert(rates.end(), kept.begin(), kept.end());
    }
    expected_ = estimated_seconds(plan, rates, &measured);
  }

  /// Returns ", 80 s left" or ", about 80 s left"; empty: unknown.
  std::string words(const SweepProgress& now) const {
    if (now.seconds_left > 0) return fmt::format(", {:.0f} s left", now.seconds_left);
    return expected_ && *expected_ > now.seconds ? fmt::format(", about {:.0f} s left", *expected_ - now.seconds) : "";
  }

 private:
  std::optional<double> expected_;
};

/// Returns success if at least one cell was measured.
int verdict(ModelCommand& command, const SweepReport& report) {
  const std::size_t n = report.cells.size();
  if (report.n_failed() + report.n_skipped() < n) return kExitDone;
  const std::string cells = n == 1 ? std::string("the only cell") : fmt::format("all {} cells", n);
  return command.fail(
      {ErrorCode::internal,
       fmt::format("nothing was measured: {} failed, and the first error is: {}", cells, report.cells.begin()->second.error),
       {}});
}

int sweep(const std::vector<std::string>& arguments, Terminal& terminal) {
  ModelCommand command(kSweepCommand, terminal);
  SweepFlags flags;
  add_flags(command.parser(), flags);
  // A .json file as first argument is a plan, not a model.
  std::vector<std::string> rest = arguments;
  if (!rest.empty() && !rest.front().starts_with('-') && rest.front().ends_with(".json"))
    rest.front() = "--plan=" + rest.front();
  if (const auto code = command.parse(rest)) return *code;
  if (flags.resume && flags.journal.empty()) {
    return command.fail({ErrorCode::invalid_argument, "there is no journal to resume: give it with --journal", "--resume"});
  }
  const Result<SweepPlan> plan = plan_of(command, flags);
  if (!plan) return command.fail(plan.error());
  if (const auto writable = check_outputs(flags); !writable) return command.fail(writable.error());
  Result<SweepJournal> journal = SweepJournal::open(flags.journal, *plan, flags.resume);
  if (!journal) return command.fail(journal.error());
  warn_of_idle(command, *plan);
  MachineNotes notes(command);
  const TimeLeft time_left(command, *plan, *journal);
  const SweepObserver observer = [&](const SweepProgress& now, bool between_runs) {
    if (between_runs) notes.tell(*journal);
    command.progress(fmt::format("cell {} of {}: {}: {}{}", now.cells_done + 1, now.cells_total,
                                 values_text(*plan, now.cell), now.doing, time_left.words(now)));
    return command.signals().requested() ? SweepDecision::stop : SweepDecision::go_on;
  };
  // A target needs no engine loader and no workbench.
  EngineLoader loader;
  SweepPlaces places;
  if (plan->target.url.empty()) {
    loader = cached_loader(command.workbench().paths());
    places.packed = packed_folder(command.workbench().paths());
  }
  const auto report = run_sweep(*plan, *journal, loader, observer, places);
  command.progress({});
  notes.tell(*journal);
  if (!report) return command.fail(report.error());
  terminal.out << printed(flags, *plan, *report) << std::flush;
  if (const auto written = write_outputs(flags, *plan, *report); !written) return command.fail(written.error());
  if (!report->stopped) return verdict(command, *report);
  command.print_note(flags.journal.empty() ? "Stopped." : fmt::format("Stopped; --resume continues {}.", flags.journal));
  return kExitFailed;
}

}  // namespace

extern constexpr Command kSweepCommand = {
    .name = "sweep", .help = "Measure the same work under several settings.", .run = sweep};

}  // namespace lathe::app
