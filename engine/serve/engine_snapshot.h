// SPDX-License-Identifier: Apache-2.0
// Writes the scheduler's part of a snapshot: requests in order, and every block of the pool.
#pragma once

#include "engine/api/snapshot.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {

/// Requires: the sequences of the scheduler are Generations.
void write_scheduler_state(const Scheduler& scheduler, EngineSnapshot& snapshot);

}  // namespace lathe::engine
