// SPDX-License-Identifier: Apache-2.0
#include "app/cli/json_lines.h"

#include <fmt/format.h>

#include "app/api/command_line.h"
#include "app/cli/line_reader.h"
#include "app/cli/model_command.h"
#include "app/cli/stop_signals.h"

namespace lathe::app {

int answer_lines(Terminal& terminal, const CLI::App& parser, const LineAnswer& answer) {
  StopSignals signals;
  LineReader reader(terminal.in_fd, signals.fd());
  for (std::size_t n = 1; const auto line = reader.next(); ++n) {
    if (line->find_first_not_of(" \t\r") == line->npos) continue;
    const auto answered = answer(*line);
    if (!answered) {
      engine::Error error = answered.error();
      error.where = error.where.empty() ? fmt::format("line {}", n) : fmt::format("line {}: {}", n, error.where);
      report(terminal, parser, error);
      return kExitFailed;
    }
    terminal.out << *answered << std::endl;
    if (!terminal.out.good()) return kExitFailed;
  }
  return signals.requested() ? kExitFailed : kExitDone;
}

}  // namespace lathe::app
