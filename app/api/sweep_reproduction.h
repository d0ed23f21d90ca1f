// SPDX-License-Identifier: Apache-2.0
// Reproduction of a cell: the plan or the command that measures it again, and one of its requests.
#pragma once

#include <cstddef>
#include <string>

#include "app/api/sweep_plan.h"

namespace lathe::app {

/// The plan that measures one cell again, as JSON and as a command line.
engine::OrderedJson cell_plan_json(const SweepPlan& plan, std::size_t cell);
std::string cell_command(const SweepPlan& plan, std::size_t cell);
/// A curl command that sends one request of the cell's mean lengths and sampling to the plan's target, or else to the server
/// at `base_url`. Its prompt consists of ids that every vocabulary has.
std::string cell_curl(const SweepPlan& plan, std::size_t cell, const std::string& base_url);

}  // namespace lathe::app
