// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/state_snapshots.h"

#include <utility>

#include "kernels/api/check.h"

namespace lathe::engine {

StateSnapshots::StateSnapshots(int n_snapshots, int first_slot, int n_primary_blocks)
    : pool_(n_snapshots),
      first_slot_(first_slot),
      siblings_(at(n_primary_blocks), -1),
      primary_of_(at(n_snapshots), -1),
      n_tokens_(at(n_snapshots), 0),
      serials_(at(n_snapshots), 0) {}

int StateSnapshots::n_usable(std::span<const std::int32_t> primaries) const {
  auto n = primaries.size();
  while (n > 0 && !exists(primaries[n - 1])) --n;
  return static_cast<int>(n);
}

std::int32_t StateSnapshots::adopt(std::int32_t primary) {
  LATHE_CHECK(exists(primary));
  const std::int32_t snapshot = siblings_[at(primary)];
  pool_.add_reference(snapshot);
  ++serials_[at(snapshot)];
  ++counters_.n_hits;
  return first_slot_ + snapshot;
}

OwnSnapshot StateSnapshots::take() {
  if (pool_.n_available() == 0) return {};
  const BlockPool::Taken taken = pool_.take();
  if (taken.was_cached) {
    detach(taken.block);
    ++counters_.n_evicted;
  }
  return own_of(taken.block);
}

OwnSnapshot StateSnapshots::take_again(const OwnSnapshot& own) {
  if (own.slot < 0) return {};
  const std::int32_t snapshot = own.slot - first_slot_;
  const bool is_unchanged = serials_[at(snapshot)] == own.serial && primary_of_[at(snapshot)] >= 0;
  if (!is_unchanged || pool_.n_references(snapshot) > 0) return {};
  detach(snapshot);
  pool_.set_cached(snapshot, false);
  pool_.take_block(snapshot);
  return own_of(snapshot);
}

bool StateSnapshots::attach(const OwnSnapshot& own, std::int32_t primary, int n_tokens) {
  const std::int32_t snapshot = own.slot - first_slot_;
  const bool is_new = !exists(primary);
  if (is_new) {
    siblings_[at(primary)] = snapshot;
    primary_of_[at(snapshot)] = primary;
    n_tokens_[at(snapshot)] = n_tokens;
    pool_.set_cached(snapshot, true);
    ++n_held_;
    ++counters_.n_taken;
  }
  pool_.release(snapshot);
  return is_new;
}

void StateSnapshots::forget(std::int32_t primary, bool is_eviction) {
  const std::int32_t snapshot = siblings_[at(primary)];
  if (snapshot < 0 || pool_.n_references(snapshot) > 0) return;
  detach(snapshot);
  pool_.set_cached(snapshot, false);
  if (is_eviction) ++counters_.n_evicted;
}

void StateSnapshots::detach(std::int32_t snapshot) {
  siblings_[at(std::exchange(primary_of_[at(snapshot)], -1))] = -1;
  --n_held_;
}

bool StateSnapshots::consistent(const BlockPool& primary_pool) const {
  int n_siblings = 0;
  for (std::int32_t primary = 0; primary < primary_pool.n_blocks(); ++primary) {
    const std::int32_t snapshot = siblings_[at(primary)];
    if (snapshot < 0) continue;
    ++n_siblings;
    if (!primary_pool.is_cached(primary) || !pool_.is_cached(snapshot) || primary_of_[at(snapshot)] != primary) return false;
  }
  return pool_.n_used() == 0 && pool_.n_cached() == n_siblings && n_siblings == n_held_;
}

}  // namespace lathe::engine
