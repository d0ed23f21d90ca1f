// SPDX-License-Identifier: Apache-2.0
// Invariants between two steps, checked the slow way: builds with LATHE_DCHECK and tests check them after each step.
#include "engine/schedule/scheduler.h"

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

}  // namespace

bool Scheduler::consistent() const {
  References first(cache_.pool());
  for (const Sequence* sequence : running_) {
    if (sequence->state != SequenceState::running) return false;
    if (cache_.n_missing(sequence->table, sequence->n_computed) > 0) return false;
    first.add(sequence->table);
  }
  for (const BatchSlot& slot : batch_.slots()) first.add(slot.table);
  for (const Sequence* sequence = waiting_.front(); sequence != nullptr; sequence = sequence->next) {
    if (sequence->state != SequenceState::waiting || !sequence->table.blocks.empty()) return false;
  }
  for (std::size_t i = 0; i < cache_.windows().size(); ++i) {
    if (!consistent_window(i)) return false;
  }
  return first.are_those_of_the_pool();
}

bool Scheduler::consistent_window(std::size_t i) const {
  const WindowGroup& group = cache_.windows()[i];
  References references(group.pool());
  for (const Sequence* sequence : running_) {
    const BlockRow& row = sequence->table.windows[i];
    if (row.n_dropped < sequence->table.n_dropped || row.blocks.size() > sequence->table.blocks.size()) return false;
    if (cache_.blocks_for(sequence->n_computed) > static_cast<int>(row.blocks.size())) return false;
    references.add(row);
  }
  return references.are_those_of_the_pool() && group.pool().n_used() <= cache_.pool().n_used() &&
         group.consistent(cache_.pool());
}

}  // namespace lathe::engine
