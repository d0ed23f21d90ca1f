// SPDX-License-Identifier: Apache-2.0
// The files that a plan names: prompts, arrivals, and the text on which quality is measured.
#pragma once

#include "app/api/sweep_plan.h"

namespace lathe::app {

/// Reads each as the cells will, and forgets it: what is not there, or no trace, or no text fails before an engine is loaded
/// for it. Pipes are left to the cells. Errors: invalid_argument naming setting and file, or file and line.
engine::Result<void> check_files(const SweepPlan& plan);

}  // namespace lathe::app
