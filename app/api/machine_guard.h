// SPDX-License-Identifier: Apache-2.0
// MachineGuard: what about the machine, or about a measured server, makes a measurement doubtful.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

struct MachineGuard {
  std::string_view name;  ///< "other_load"
  double most;            ///< what is above it is told
  std::string (*words)(double value);
};

/// THE TABLE of guards. More is worse in all of them.
std::span<const MachineGuard> machine_guards();

/// A guard that was broken, and how badly. Units: shares of 1; of memory that was swapped, bytes; of answers, their number.
struct MachineWarning {
  std::string_view guard;  ///< its name
  double value = 0;
};

/// One line.
std::string text_of(const MachineWarning& warning);
/// Keeps the worst of each guard, in the order of the table.
void keep_worst(std::vector<MachineWarning>& all, std::span<const MachineWarning> more);

/// {"other_load": 0.23}. A guard that this program does not know is left out on reading.
engine::OrderedJson to_json(std::span<const MachineWarning> warnings);
/// Errors: invalid_argument when it is no object of numbers.
engine::Result<std::vector<MachineWarning>> machine_warnings_from(const engine::Json& json);

}  // namespace lathe::app
