// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/engine_snapshot.h"

#include <algorithm>

#include "engine/serve/generation.h"

namespace lathe::engine {
namespace {

RequestPhase phase_of(const Sequence& sequence) {
  if (sequence.state == SequenceState::done) return RequestPhase::finished;
  if (sequence.state == SequenceState::waiting) {
    return sequence.n_preemptions > 0 ? RequestPhase::preempted : RequestPhase::queued;
  }
  return sequence.in_prefill() ? RequestPhase::prefill : RequestPhase::decode;
}

ActiveRequest describe(const Sequence& sequence, std::int64_t n_ahead) {
  const auto& generation = static_cast<const Generation&>(sequence);
  return {.id = generation.id,
          .phase = phase_of(generation),
          .source = generation.source,
          .n_prompt = generation.n_prompt,
          .n_cached = generation.n_cached,
          .n_computed = generation.n_computed,
          .n_output = generation.n_output(),
          .n_blocks = generation.table.n_held(),
          .n_preemptions = generation.n_preemptions,
          .n_ahead = n_ahead,
          .submitted_ns = generation.submitted_ns};
}

void write_blocks(const Scheduler& scheduler, EngineSnapshot& snapshot) {
  const BlockPool& pool = scheduler.cache().pool();
  const int size = scheduler.cache().block_size();
  snapshot.blocks.resize(static_cast<std::size_t>(pool.n_blocks()));
  for (std::int32_t i = 0; i < pool.n_blocks(); ++i) {
    KvBlockState& block = snapshot.blocks[static_cast<std::size_t>(i)];
    block.n_references = pool.n_references(i);
    block.hashed = pool.is_cached(i);
    if (block.hashed) block.n_filled = static_cast<std::int16_t>(size);
  }
  for (const Sequence* sequence : scheduler.running()) {
    const BlockTable& table = sequence->table;
    int n_left = sequence->n_computed - table.n_dropped * size;
    for (const std::int32_t i : table.held()) {
      KvBlockState& block = snapshot.blocks[static_cast<std::size_t>(i)];
      if (block.owner == 0) block.owner = sequence->id;
      block.n_filled = std::max(block.n_filled, static_cast<std::int16_t>(std::clamp(n_left, 0, size)));
      n_left -= size;
    }
  }
}

void write_states(const Scheduler& scheduler, bool with_slots, RecurrentStates& states) {
  const SlotPool& pool = scheduler.cache().state_slots();
  states.n_slots = pool.n_slots();
  states.n_slots_used = pool.n_used();
  const auto& snapshots = scheduler.cache().snapshots();
  if (snapshots) {
    const StateSnapshotCounters& counters = snapshots->counters();
    states.n_snapshots = snapshots->n_snapshots();
    states.n_snapshots_held = snapshots->n_held();
    states.n_snapshots_taken = counters.n_taken;
    states.n_snapshot_hits = counters.n_hits;
    states.n_snapshots_evicted = counters.n_evicted;
  }
  if (!with_slots) return;
  states.slot_states.resize(static_cast<std::size_t>(states.n_slots + states.n_snapshots));
  for (const Sequence* sequence : scheduler.running()) {
    if (sequence->table.state_slot < 0) continue;
    states.slot_states[static_cast<std::size_t>(sequence->table.state_slot)] = {.owner = sequence->id,
                                                                                .n_tokens = sequence->n_computed};
  }
  for (int i = 0; i < states.n_snapshots; ++i) {
    states.slot_states[static_cast<std::size_t>(states.n_slots + i)].n_tokens = snapshots->n_tokens(i);
  }
}

}  // namespace

void write_scheduler_state(const Scheduler& scheduler, bool with_blocks, EngineSnapshot& snapshot) {
  const BlockPool& pool = scheduler.cache().pool();
  snapshot.step = scheduler.step();
  snapshot.n_running = static_cast<int>(scheduler.running().size());
  snapshot.n_waiting = scheduler.waiting().size();
  snapshot.n_blocks = pool.n_blocks();
  snapshot.n_blocks_used = pool.n_used();
  snapshot.n_blocks_cached = pool.n_cached();
  snapshot.n_blocks_free = pool.n_free();
  snapshot.block_size = scheduler.cache().block_size();
  const CacheOccupancy occupancy = scheduler.occupancy();
  snapshot.n_kv_reserved = occupancy.n_reserved;
  snapshot.n_kv_unfilled = occupancy.n_unfilled;
  snapshot.requests.reserve(scheduler.running().size() + static_cast<std::size_t>(scheduler.waiting().size()));
  for (const Sequence* sequence : scheduler.running()) snapshot.requests.push_back(describe(*sequence, 0));
  std::int64_t n_ahead = 0;
  for (const Sequence* sequence = scheduler.waiting().front(); sequence != nullptr; sequence = sequence->next) {
    snapshot.requests.push_back(describe(*sequence, n_ahead++));
  }
  if (with_blocks) write_blocks(scheduler, snapshot);
  write_states(scheduler, with_blocks, snapshot.states);
  for (const WindowGroup& group : scheduler.cache().windows()) {
    const BlockPool& blocks = group.pool();
    snapshot.windows.push_back({.window = group.window(),
                                .n_blocks = blocks.n_blocks(),
                                .n_blocks_used = blocks.n_used(),
                                .n_blocks_cached = blocks.n_cached(),
                                .n_blocks_free = blocks.n_free()});
  }
}

}  // namespace lathe::engine
