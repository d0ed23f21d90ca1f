// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

#include "app/api/workbench.h"
#include "app/cli/command.h"
#include "app/log/printable.h"
#include "engine/api/options.h"
#include "engine/api/table.h"

namespace lathe::app {

// THE TABLE of commands, in the order of `lathe --help`: one file in commands/ and one line here for each.
LATHE_TABLE(Command, kCommands,
  kServeCommand,
  kCompleteCommand,
  kChatCommand,
  kInspectCommand,
  kConvertCommand,
  kEvalCommand,
  kSweepCommand,
  kSelftestCommand,
  kBenchCommand,
  kRooflineCommand,
  kDevicesCommand,
  kTokenizeCommand,
  kDetokenizeCommand,
  kTemplateCommand,
  kEmbedCommand,
  kScoreCommand,
  kModelsCommand,
  kHelpCommand,
);

namespace {

std::string overview() {
  std::string text =
      "Usage: lathe [MODEL] [OPTIONS]             open the window; it takes the engine options of serve\n"
      "       lathe COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Command* command : kCommands) text += fmt::format("  {:<12}{}\n", command->name, command->help);
  return text +
         "\n'lathe COMMAND --help' lists the options of a command, 'lathe help' lists the pages of the manual.\n"
         "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 model refused.\n";
}

int unknown_command(const std::string& name, Terminal& terminal) {
  const std::string_view head = std::string_view(name).substr(0, 64);  // a longer name is near to none
  const auto nearest = *std::min_element(kCommands.begin(), kCommands.end(), [&](const Command* a, const Command* b) {
    return engine::edit_distance(head, a->name) < engine::edit_distance(head, b->name);
  });
  terminal.err << fmt::format("lathe: error: no command or model folder '{}'", printable(name, 64));
  if (engine::edit_distance(head, nearest->name) <= 1 + nearest->name.size() / 2)
    terminal.err << "; did you mean '" << nearest->name << "'?";
  terminal.err << " ('lathe --help' lists the commands, 'lathe -- NAME' opens a model of the library)\n";
  return kExitUsage;
}

/// Catches all exceptions: an exception of a library ends the command, not the program.
int run(const Command& command, const std::vector<std::string>& arguments, Terminal& terminal) {
  std::string problem;
  try {
    const int code = command.run(arguments, terminal);
    terminal.out.flush();
    if (terminal.out.good()) return code;
    problem = "cannot write to standard output";
  } catch (const std::bad_alloc&) {
    problem = "not enough memory";
  } catch (const std::exception& exception) {
    problem = exception.what();
  }
  terminal.err << fmt::format("lathe {}: error: {}\n", command.name, printable(problem));
  return kExitFailed;
}

}  // namespace

std::span<const Command* const> command_table() { return kCommands; }

std::optional<int> run_command_line(const std::vector<std::string>& arguments, Terminal& terminal) {
  if (arguments.empty()) return std::nullopt;
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") {
    terminal.out << overview() << std::flush;
    return terminal.out.good() ? kExitDone : kExitFailed;
  }
  if (first == "--version" || first == "-V") {
    terminal.out << "lathe " << version() << '\n' << std::flush;
    return terminal.out.good() ? kExitDone : kExitFailed;
  }
  for (const Command* command : kCommands) {
    if (command->name == first) return run(*command, {arguments.begin() + 1, arguments.end()}, terminal);
  }
  // The window's own options, and a model to open, are handled by the window.
  std::error_code error;
  if (first.starts_with('-') || first.find('/') != std::string::npos || std::filesystem::exists(first, error)) {
    return std::nullopt;
  }
  return unknown_command(first, terminal);
}

std::optional<int> run_command_line(const std::vector<std::string>& arguments) {
  Terminal terminal{.out = std::cout,
                    .err = std::cerr,
                    .in_fd = STDIN_FILENO,
                    .in_is_terminal = ::isatty(STDIN_FILENO) == 1,
                    .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                    .err_is_terminal = ::isatty(STDERR_FILENO) == 1};
  return run_command_line(arguments, terminal);
}

}  // namespace lathe::app
