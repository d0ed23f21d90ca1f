// SPDX-License-Identifier: Apache-2.0
// Answers JSONL: each line of stdin yields a line of stdout at once.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "app/cli/terminal.h"
#include "engine/api/result.h"

namespace CLI {
class App;
}

namespace lathe::app {

/// Returns the answer to a line, without a line end. Errors: the problem of the line.
using LineAnswer = std::function<engine::Result<std::string>(std::string_view line)>;

/// Answers the lines of stdin in order, until its end or a signal; blank lines have no answer. The first line with an error
/// ends the loop, and stderr names the line and the problem. The exit code is 0 at the end of stdin, else 1.
int answer_lines(Terminal& terminal, const CLI::App& parser, const LineAnswer& answer);

}  // namespace lathe::app
