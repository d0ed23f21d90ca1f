// SPDX-License-Identifier: Apache-2.0
// Program `lathe` without the window.
#include <iostream>
#include <string>
#include <vector>

#include "app/api/command_line.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const auto code = lathe::app::run_command_line(arguments)) return *code;
  std::cerr << "lathe: error: this build has no window; 'lathe --help' lists the commands\n";
  return lathe::app::kExitUsage;
}
