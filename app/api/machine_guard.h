// SPDX-License-Identifier: Apache-2.0
// MachineGuard: a condition of the machine, or of a measured server, that makes a measurement doubtful.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

struct MachineGuard {
  std::string_view name;  ///< "other_load"
  double most;            ///< a value above this gives a warning
  std::string (*words)(double value);
};

/// THE TABLE of guards. A higher value is worse for all of them.
std::span<const MachineGuard> machine_guards();

/// A guard whose limit was exceeded, and the value. Units: share of 1; "swap": bytes; "own_requests": tokens;
/// "without_usage": answers.
struct MachineWarning {
  std::string_view guard;  ///< name of the guard
  double value = 0;
};

/// The warning as one line of text.
std::string text_of(const MachineWarning& warning);
/// Merges `more` into `all`: the worst value of each guard, in the order of the table.
void keep_worst(std::vector<MachineWarning>& all, std::span<const MachineWarning> more);

/// Values by guard: {"other_load": 0.23}.
engine::OrderedJson to_json(std::span<const MachineWarning> warnings);
/// Reads to_json()'s form without unknown guards. Errors: invalid_argument when `json` is not an object of numbers.
engine::Result<std::vector<MachineWarning>> machine_warnings_from(const engine::Json& json);

}  // namespace lathe::app
