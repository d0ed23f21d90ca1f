// SPDX-License-Identifier: Apache-2.0
// SweepFlags: the arguments of lathe sweep, and the plan that they describe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/api/sweep_plan.h"
#include "app/cli/model_command.h"
#include "app/cli/option_flags.h"

namespace lathe::app {

struct SweepFlags {
  std::string plan_file, template_name, journal, quality_dataset;
  SweepTarget target;
  std::vector<std::string> variables;
  std::vector<std::pair<std::string, std::string>> workload;  ///< given settings of the workload, names and values
  std::int64_t repeats = 0, seed = 0;
  std::map<std::string_view, bool> printed;       ///< by name of the export format: true to print it
  std::map<std::string_view, std::string> files;  ///< by name of the export format: file to write; empty: none
  bool resume = false, in_order = false, no_warm_up = false, parse_special = false;
  std::optional<double> goal_ttft_ms, goal_itl_ms, stop_at_ci;
  OptionFlags sampling;
};

/// Requires: `flags` outlives `parser`.
void add_flags(CLI::App& parser, SweepFlags& flags);

/// Returns a plan whose variables, values and files are checked. Opens the workbench of `command` unless a target is
/// measured. With --resume and no argument about the measurement, the plan is the journal's. Warns of arguments without
/// effect. Errors: invalid_argument; those of resolving the model's name.
engine::Result<SweepPlan> plan_of(ModelCommand& command, const SweepFlags& flags);

}  // namespace lathe::app
