// SPDX-License-Identifier: Apache-2.0
// Parses the arguments of the window's program, which are no subcommand.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "app/cli/model_command.h"
#include "app/cli/option_flags.h"

namespace lathe::app {

std::optional<int> parse_window_arguments(const std::vector<std::string>& arguments, WindowArguments& parsed,
                                          Terminal& terminal) {
  CLI::App parser("Open the window.", "lathe");
  parser.add_option("MODEL", parsed.model,
                    "Folder of a checkpoint, GGUF file or name of a model in the library to open; default: the last model.");
  parser.add_option("--profile-dir", parsed.profile_dir,
                    "Folder for settings and other files; default: the folders of the user.");
  OptionFlags flags;
  flags.add(parser, engine::engine_option_table(), {"model"});
  // Used by ./run: prints why no window can open, and opens none.
  parser.add_flag("--why-no-display", parsed.why_no_display)->group("");
  if (const auto code = parse(parser, arguments, terminal)) return code;
  engine::EngineOptions options;
  if (const auto valid = flags.apply(options); !valid) return report(terminal, parser, valid.error());
  parsed.options = flags.values();
  const auto commands = command_table();
  const bool is_command =
      std::any_of(commands.begin(), commands.end(), [&](const Command* command) { return command->name == parsed.model; });
  std::error_code error;
  if (!is_command || std::filesystem::exists(parsed.model, error)) return std::nullopt;
  terminal.err << fmt::format(
      "lathe: error: the command must come first: lathe {0} ... ('lathe {0} --help' lists its options)\n", parsed.model);
  return kExitUsage;
}

std::optional<int> parse_window_arguments(const std::vector<std::string>& arguments, WindowArguments& parsed) {
  Terminal terminal{.out = std::cout, .err = std::cerr};
  return parse_window_arguments(arguments, parsed, terminal);
}

}  // namespace lathe::app
