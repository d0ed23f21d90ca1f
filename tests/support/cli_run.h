// SPDX-License-Identifier: Apache-2.0
// Runs a command of the command line inside the test and catches what it writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/api/json.h"

namespace lathe::tests {

struct CliRun {
  std::optional<int> code;  ///< none: the arguments name no command
  std::string out, err;
};

/// `input` is what the command finds on standard input. The profile is a temporary folder, gone afterwards.
CliRun run_cli(std::vector<std::string> arguments, const std::string& input = {});
/// The JSON that the run wrote on stdout. The test ends where the run failed, or wrote something else.
engine::Json json_of(const CliRun& run);

}  // namespace lathe::tests
