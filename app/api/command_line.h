// SPDX-License-Identifier: Apache-2.0
// The command line, for both programs: with the window and without it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe::app {

enum ExitCode : int { kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitModelRefused = 3 };

/// Runs `lathe <command> ...`. None when the arguments name no command: they are the window's.
std::optional<int> run_command_line(const std::vector<std::string>& arguments);

struct WindowArguments {
  std::string model;        ///< empty: as the settings say
  std::string profile_dir;  ///< empty: XDG folders
  /// Options of the engine, name and value, that go over those saved for the model. They are valid each by itself.
  std::vector<std::pair<std::string, std::string>> options;
  bool why_no_display = false;  ///< open nothing; say on stdout why there would be no window: exit code 1, or 0 for none
};
/// None: open the window. Else the exit code: the help was asked for, or the arguments are wrong, and that has been said.
std::optional<int> parse_window_arguments(const std::vector<std::string>& arguments, WindowArguments& parsed);

}  // namespace lathe::app
