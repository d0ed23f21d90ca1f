// SPDX-License-Identifier: Apache-2.0
// The command line, for both programs: with the window and without it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lathe::app {

enum ExitCode : int { kExitDone = 0, kExitFailed = 1, kExitUsage = 2, kExitModelRefused = 3 };

/// Runs `lathe <command> ...`. None when the arguments name no command: then the window opens (with arguments[0] as the
/// model).
std::optional<int> run_command_line(const std::vector<std::string>& arguments);

}  // namespace lathe::app
