// SPDX-License-Identifier: Apache-2.0
// States of recurrent layers as a fake engine shows them.
#pragma once

#include "engine/api/snapshot.h"

namespace lathe::tests {

/// Four slots for running requests, and `n_snapshots` of which one is held. `is_watched`: each slot is shown.
engine::RecurrentStates fake_states(int n_snapshots, const engine::EngineSnapshot& snapshot, bool is_watched);

}  // namespace lathe::tests
