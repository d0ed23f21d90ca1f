// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/scheduler_invariant.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lathe::engine {
namespace {

/// Counts the references to the blocks of one group.
class References {
 public:
  explicit References(const BlockPool& pool) : pool_(pool), counts_(static_cast<std::size_t>(pool.n_blocks()), 0) {}

  void add(const BlockRow& row) {
    for (const std::int32_t block : row.held()) ++counts_[static_cast<std::size_t>(block)];
  }

  bool are_those_of_the_pool() const {
    int n_used = 0;
    for (std::int32_t block = 0; block < pool_.n_blocks(); ++block) {
      const int n = counts_[static_cast<std::size_t>(block)];
      if (pool_.n_references(block) != n) return false;
      if (n > 1 && !pool_.is_cached(block)) return false;  // only findable blocks are shared
      if (n > 0) ++n_used;
    }
    return pool_.n_used() == n_used;
  }

 private:
  const BlockPool& pool_;
  std::vector<int> counts_;
};

/// True if each table that is in use has a slot of its own, and nobody else has one; without slots there are none.
bool are_slots_consistent(const Scheduler& scheduler) {
  const SlotPool& pool = scheduler.cache().state_slots();
  std::vector<std::uint8_t> is_held(static_cast<std::size_t>(pool.n_slots()), 0);
  int n_held = 0;
  const auto holds_own = [&](const BlockTable& table) {
    if (pool.n_slots() == 0) return table.state_slot < 0;
    if (table.state_slot < 0 || table.state_slot >= pool.n_slots()) return false;
    ++n_held;
    return is_held[static_cast<std::size_t>(table.state_slot)]++ == 0;
  };
  for (const Sequence* sequence : scheduler.running()) {
    if (!holds_own(sequence->table)) return false;
  }
  for (const BatchSlot& slot : scheduler.batch().slots()) {
    if (slot.sequence == nullptr && !holds_own(slot.table)) return false;
  }
  return pool.n_used() == n_held;
}

/// True if no sequence reads or writes a snapshot between two steps, and each snapshot belongs to a cached block.
bool are_snapshots_consistent(const Scheduler& scheduler) {
  const auto is_done = [](const Sequence* sequence) {
    return sequence->table.state_source < 0 && sequence->table.pending.all().empty();
  };
  const PagedCache& cache = scheduler.cache();
  return std::ranges::all_of(scheduler.running(), is_done) &&
         (!cache.snapshots() || cache.snapshots()->consistent(cache.pool()));
}

bool is_window_consistent(const Scheduler& scheduler, std::size_t i) {
  const PagedCache& cache = scheduler.cache();
  const WindowGroup& group = cache.windows()[i];
  References references(group.pool());
  for (const Sequence* sequence : scheduler.running()) {
    const BlockRow& row = sequence->table.windows[i];
    if (row.n_dropped < sequence->table.n_dropped || row.blocks.size() > sequence->table.blocks.size()) return false;
    if (cache.blocks_for(sequence->n_computed) > static_cast<int>(row.blocks.size())) return false;
    references.add(row);
  }
  return references.are_those_of_the_pool() && group.pool().n_used() <= cache.pool().n_used() &&
         group.consistent(cache.pool());
}

}  // namespace

bool is_consistent(const Scheduler& scheduler) {
  const PagedCache& cache = scheduler.cache();
  References primary(cache.pool());
  for (const Sequence* sequence : scheduler.running()) {
    if (sequence->state != SequenceState::running) return false;
    if (cache.n_missing(sequence->table, sequence->n_computed) > 0) return false;
    primary.add(sequence->table);
  }
  for (const BatchSlot& slot : scheduler.batch().slots()) primary.add(slot.table);
  for (const Sequence* sequence = scheduler.waiting().front(); sequence != nullptr; sequence = sequence->next) {
    if (sequence->state != SequenceState::waiting || !sequence->table.blocks.empty()) return false;
    if (sequence->table.state_slot >= 0) return false;
  }
  for (std::size_t i = 0; i < cache.windows().size(); ++i) {
    if (!is_window_consistent(scheduler, i)) return false;
  }
  return primary.are_those_of_the_pool() && are_slots_consistent(scheduler) && are_snapshots_consistent(scheduler);
}

}  // namespace lathe::engine
