// SPDX-License-Identifier: Apache-2.0
// The invariant of a Scheduler between two steps.
#pragma once

#include "engine/schedule/scheduler.h"

namespace lathe::engine {

/// Compares the references of every block with the tables that hold it, and the states of the sequences with the lists that
/// they are in. Slow, block after block: builds with LATHE_DCHECK and tests call it after each step.
bool is_consistent(const Scheduler& scheduler);

}  // namespace lathe::engine
