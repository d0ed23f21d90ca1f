// SPDX-License-Identifier: Apache-2.0
// What every command that needs a model shares: its parser, a workbench, loading with progress, errors and exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/end_watch.h"
#include "app/api/workbench.h"
#include "app/cli/command.h"
#include "app/cli/option_flags.h"
#include "app/cli/stop_signals.h"

namespace lathe::app {

/// "bfloat16", "int8_g32 (zero points, head in bfloat16) and bfloat16".
std::string weights_text(const engine::LoadedModel& model);
/// 3 for what is wrong with a model, 2 for what is wrong with the arguments, else 1.
int exit_code_of(engine::ErrorCode code);
/// Writes the error as one line and returns its exit code.
int report(Terminal& terminal, const CLI::App& parser, const engine::Error& error);
/// --device, of commands that measure the machine.
void add_device(CLI::App& parser, std::string& device);
/// A whole number between two others; the help shows it as N.
void add_number(CLI::App& parser, const std::string& flag, int& value, int min, int max, const std::string& help);
/// Takes whole numbers from `least` on.
CLI::Validator at_least(std::int64_t least);
/// "lathe serve".
std::string program_name(const Command& command);
/// None: go on. Else the exit code: the help was asked for, or the arguments are wrong, and that has been said.
std::optional<int> parse(CLI::App& parser, const std::vector<std::string>& arguments, Terminal& terminal);

class ModelCommand {
 public:
  /// `except`: options of the engine that mean something else in this command.
  ModelCommand(const Command& command, Terminal& terminal, std::vector<std::string_view> except = {});

  CLI::App& parser() { return parser_; }
  std::optional<int> parse(const std::vector<std::string>& arguments);
  bool given(std::string_view option) const { return flags_.given(option); }
  /// Whether a model was given, in either way.
  bool names_model() const { return !positional_model_.empty() || given("model"); }
  /// Writes the options that were given over `target`. Errors: invalid_argument, `where` = the flag.
  engine::Result<void> apply_given(engine::EngineOptions& target) const { return flags_.apply(target); }

  /// The options as given, the model resolved: a folder, a name of the library, `otherwise` where none is given, or the
  /// bundled model (which stderr then says).
  engine::Result<engine::EngineOptions> engine_options(const std::string& otherwise = {});
  /// A warning of options that were given and change nothing under any of `all`: one line.
  void warn_of_idle(std::span<const engine::EngineOptions> all);
  /// Loads with progress on stderr, after that warning. Errors: cancelled when a signal came.
  engine::Result<void> load(const engine::EngineOptions& options);
  /// Requires: engine_options() succeeded.
  Workbench& workbench() { return *workbench_; }
  StopSignals& signals() { return signals_; }
  void set_log_level(LogLevel level) { log_level_ = level; }
  /// For programs that stay: keeps a log file of this name when the settings want one.
  void set_log_name(std::string name) { log_name_ = std::move(name); }
  /// A signal means that this is the end, and an orderly one. Before load().
  void end_on_signal_with(int code) { end_code_ = code; }
  /// A signal came: the program ends within 5 s, whatever runs.
  void begin_end() { end_watch_.begin(kLongestEnd, end_code_); }
  /// A line on stderr that --quiet leaves out.
  void print_note(const std::string& line);
  /// A line on stderr that the next one replaces; nothing where there is no terminal. Empty: takes it away.
  void progress(const std::string& line);
  int fail(const engine::Error& error) { return report(terminal_, parser_, error); }

 private:
  engine::Result<void> open_workbench();
  /// What to do where the word after a flag that takes none was taken for a model; else nothing.
  std::string hint_at_flag() const;

  StopSignals signals_;  ///< first: threads made later must inherit what it blocks
  Terminal& terminal_;
  CLI::App parser_;
  const std::vector<std::string_view> except_;
  OptionFlags flags_;
  std::string positional_model_, profile_dir_;
  std::string flag_before_model_;  ///< "--csv" of "--csv FILE"; empty: nothing that prints stands there
  bool quiet_ = false;
  LogLevel log_level_ = LogLevel::warning;
  std::string log_name_;
  int end_code_ = kExitFailed;
  EndWatch end_watch_;
  std::unique_ptr<Workbench> workbench_;  ///< last: the watch is over its end
};

}  // namespace lathe::app
