// SPDX-License-Identifier: Apache-2.0
// JSONL in, JSONL out: a line of stdin makes a line of stdout, at once.
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

/// The answer to a line, without its end. Errors: what is wrong with the line.
using LineAnswer = std::function<engine::Result<std::string>(std::string_view line)>;

/// Answers the lines of stdin in order, until its end or a signal; a blank one has no answer. The first line with an error ends it: stderr says which
/// one and why, and the exit code is 1. Otherwise 0.
int answer_lines(Terminal& terminal, const CLI::App& parser, const LineAnswer& answer);

}  // namespace lathe::app
