// SPDX-License-Identifier: Apache-2.0
// ModelCommand: the common part of all commands that need a model: parser, workbench, loading with progress, errors and exit
// codes.
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

inline constexpr double kMiB = 1024.0 * 1024.0;

/// Examples: "bfloat16", "int8_g32 (zero points, head in bfloat16) and bfloat16".
std::string weights_text(const engine::LoadedModel& model);
/// Returns 3 for a problem of a model, 2 for a problem of the arguments, else 1.
int exit_code_of(engine::ErrorCode code);
/// Writes the error as one line and returns its exit code.
int report(Terminal& terminal, const CLI::App& parser, const engine::Error& error);
/// Adds --device to commands that measure the machine.
void add_device(CLI::App& parser, std::string& device);
/// Adds --shape to commands that can measure a model of random weights.
void add_shape(CLI::App& parser, std::string& shape);
/// Adds a flag for a whole number from `min` to `max`; the help shows it as N.
void add_number(CLI::App& parser, const std::string& flag, int& value, int min, int max, const std::string& help);
/// Accepts whole numbers from `least` on.
CLI::Validator at_least(std::int64_t least);
/// Example: "lathe serve".
std::string program_name(const Command& command);
/// Parses the arguments; nothing: the command goes on. Otherwise the exit code, after the help or an error message was
/// written.
std::optional<int> parse(CLI::App& parser, const std::vector<std::string>& arguments, Terminal& terminal);

class ModelCommand {
 public:
  /// `except`: engine options that have another meaning in this command.
  ModelCommand(const Command& command, Terminal& terminal, std::vector<std::string_view> except = {});

  CLI::App& parser() { return parser_; }
  /// Adds --shape, which names random weights in place of a model: for commands that measure speed.
  void add_shape();
  std::optional<int> parse(const std::vector<std::string>& arguments);
  bool given(std::string_view option) const { return flags_.given(option); }
  /// True if a model was given, as an argument or by --model.
  bool names_model() const { return !positional_model_.empty() || given("model"); }
  /// Writes the given options to `target`. Errors: invalid_argument, `where` = the flag.
  engine::Result<void> apply_given(engine::EngineOptions& target) const { return flags_.apply(target); }

  /// Returns the given options with the model resolved: a folder, a name of the library, `otherwise` if none is given, or
  /// the bundled model (reported on stderr).
  engine::Result<engine::EngineOptions> engine_options(const std::string& otherwise = {});
  /// Warns, in one line, of given options without effect under any of `all`.
  void warn_of_idle(std::span<const engine::EngineOptions> all);
  /// Warns of options without effect and loads with progress on stderr. Errors: cancelled if a signal came.
  engine::Result<void> load(const engine::EngineOptions& options);
  /// Requires: engine_options() succeeded.
  Workbench& workbench() { return *workbench_; }
  StopSignals& signals() { return signals_; }
  void set_log_level(LogLevel level) { log_level_ = level; }
  /// Keeps a log file of this name if the settings enable it; for programs that run long.
  void set_log_name(std::string name) { log_name_ = std::move(name); }
  /// Sets the exit code after a signal, for programs that a signal ends in good order. Call before load().
  void end_on_signal_with(int code) { end_code_ = code; }
  /// Starts the end of the program after a signal: it ends within 5 s, whatever is running.
  void begin_end() { end_watch_.begin(kLongestEnd, end_code_); }
  /// Writes a line to stderr, unless --quiet.
  void print_note(const std::string& line);
  /// Writes a line to stderr that the next one replaces; only on a terminal and without --quiet. An empty line removes the
  /// last one.
  void progress(const std::string& line);
  int fail(const engine::Error& error) { return report(terminal_, parser_, error); }

 private:
  engine::Result<void> open_workbench();
  /// Returns advice if the argument after a flag without value was taken for a model; else nothing.
  std::string hint_at_flag() const;

  StopSignals signals_;  ///< first member: later threads must inherit the signals that it blocks
  Terminal& terminal_;
  CLI::App parser_;
  const std::vector<std::string_view> except_;
  OptionFlags flags_;
  std::string positional_model_, shape_, profile_dir_;
  std::string flag_before_model_;  ///< "--csv" of "--csv FILE"; empty: the argument before the model is no printing flag
  bool quiet_ = false;
  LogLevel log_level_ = LogLevel::warning;
  std::string log_name_;
  int end_code_ = kExitFailed;
  EndWatch end_watch_;
  std::unique_ptr<Workbench> workbench_;  ///< last member: end_watch_ must outlive its destruction
};

}  // namespace lathe::app
