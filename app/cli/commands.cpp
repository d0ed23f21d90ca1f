// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <new>
#include <numeric>
#include <system_error>

#include "app/api/workbench.h"
#include "app/cli/command.h"
#include "app/log/printable.h"

namespace lathe::app {
namespace {

// THE TABLE of commands.
constexpr std::array<const Command*, 6> kCommands = {
    &kServeCommand, &kCompleteCommand, &kChatCommand, &kInspectCommand, &kSelftestCommand, &kBenchCommand,
};

std::string overview() {
  std::string text =
      "Usage: lathe [MODEL]                open the window\n"
      "       lathe COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Command* command : kCommands) text += fmt::format("  {:<10}{}\n", command->name, command->help);
  return text +
         "\n'lathe COMMAND --help' lists its options. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 model refused.\n";
}

/// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, changed}));
    }
  }
  return row.back();
}

int unknown_command(const std::string& name, Terminal& terminal) {
  const auto nearest = *std::min_element(kCommands.begin(), kCommands.end(), [&](const Command* a, const Command* b) {
    return distance(name, a->name) < distance(name, b->name);
  });
  terminal.err << fmt::format("lathe: error: no command or model folder '{}'", printable(name, 64));
  if (distance(name, nearest->name) <= 1 + nearest->name.size() / 2)
    terminal.err << "; did you mean '" << nearest->name << "'?";
  terminal.err << " ('lathe --help' lists the commands)\n";
  return kExitUsage;
}

/// The border: what a library throws ends the command, not the program.
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
  if (first == "--help" || first == "-h" || first == "help") {
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
  // The window's own options and a model to open are not for this level.
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
