// SPDX-License-Identifier: Apache-2.0
// The command line of both programs, with and without the window.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe::app {

enum ExitCode : int { kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitModelRefused = 3 };

/// Runs `lathe <command> ...`. nullopt: the arguments name no command and are for the window.
std::optional<int> run_command_line(const std::vector<std::string>& arguments);

struct WindowArguments {
  std::string model;        ///< empty: chosen by the settings
  std::string profile_dir;  ///< empty: XDG folders
  /// Engine options, name and value, that override those saved for the model. Each is valid on its own.
  std::vector<std::pair<std::string, std::string>> options;
  bool why_no_display = false;  ///< open no window, but print why it could not open (exit code 1), or nothing (0)
};
/// Parses the window's arguments. nullopt: open the window. Otherwise the exit code after help, or after an error in the
/// arguments, which has been printed.
std::optional<int> parse_window_arguments(const std::vector<std::string>& arguments, WindowArguments& parsed);

}  // namespace lathe::app
