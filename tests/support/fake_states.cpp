// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_states.h"

#include <algorithm>

namespace lathe::tests {

engine::RecurrentStates fake_states(int n_snapshots, const engine::EngineSnapshot& snapshot, bool is_watched) {
  constexpr int kSlots = 4;
  engine::RecurrentStates states{.n_slots = kSlots,
                                 .n_slots_used = std::min(kSlots, snapshot.n_running),
                                 .n_snapshots = n_snapshots,
                                 .n_snapshots_held = 1,
                                 .slot_bytes = 1000,
                                 .n_snapshots_taken = 3,
                                 .n_snapshot_hits = 2,
                                 .n_snapshots_evicted = 2};
  if (!is_watched) return states;
  states.slot_states.resize(static_cast<std::size_t>(kSlots + n_snapshots));
  for (std::size_t i = 0; i < static_cast<std::size_t>(states.n_slots_used); ++i) {
    const engine::ActiveRequest& row = snapshot.requests[i];
    states.slot_states[i] = {.owner = row.id, .n_tokens = row.n_computed};
  }
  states.slot_states[kSlots].n_tokens = 96;
  return states;
}

}  // namespace lathe::tests
