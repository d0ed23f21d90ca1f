// SPDX-License-Identifier: Apache-2.0
// Writes the scheduler's part of a snapshot: requests in order, and every block of the pool if blocks are watched.
#pragma once

#include "engine/api/snapshot.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {

/// `with_blocks`: fills EngineSnapshot::blocks too. Requires: the sequences of the scheduler are Generations.
void write_scheduler_state(const Scheduler& scheduler, bool with_blocks, EngineSnapshot& snapshot);

}  // namespace lathe::engine
