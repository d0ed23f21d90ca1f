// SPDX-License-Identifier: Apache-2.0
// Command: a subcommand of `lathe`, listed in the table of commands.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/command_line.h"
#include "app/cli/terminal.h"

namespace lathe::app {

struct Command {
  std::string_view name;
  std::string_view help;  ///< one line
  /// Takes the arguments after the name; returns an ExitCode.
  int (*run)(const std::vector<std::string>& arguments, Terminal& terminal);
};

std::span<const Command* const> command_table();

/// Runs run_command_line() on a given terminal.
std::optional<int> run_command_line(const std::vector<std::string>& arguments, Terminal& terminal);
/// Runs parse_window_arguments() on a given terminal.
std::optional<int> parse_window_arguments(const std::vector<std::string>& arguments, WindowArguments& parsed,
                                          Terminal& terminal);

}  // namespace lathe::app
