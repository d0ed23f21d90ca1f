// SPDX-License-Identifier: Apache-2.0
// StateSnapshots: copies of recurrent states after a prefix of whole blocks, found through the last block of that prefix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/block_pool.h"
#include "engine/cache/block_table.h"

namespace lathe::engine {

struct StateSnapshotCounters {
  std::uint64_t n_taken = 0;    ///< snapshots that became findable; one that moved on with its answer counts each time
  std::uint64_t n_hits = 0;     ///< admissions that began with a snapshot
  std::uint64_t n_evicted = 0;  ///< snapshots that were lost to a newer one, or with their block
};

/// The snapshots have slots of StateStorage, after those of running sequences, and no index of their own: a snapshot is the
/// sibling of the primary block that ends its prefix, is found through that block, and is lost with it. Their number is
/// fixed; empty slots are given out first, then the least recently used snapshot is evicted. A snapshot that a step reads or
/// writes has a reference and is never evicted; if all have one, a step takes no further snapshot, and nobody waits.
/// Invariant: between two steps no snapshot has a reference.
/// Thread: the engine's.
class StateSnapshots {
 public:
  /// Snapshot i has slot first_slot + i.
  StateSnapshots(int n_snapshots, int first_slot, int n_primary_blocks);

  int n_snapshots() const { return pool_.n_blocks(); }
  /// Snapshots that a lookup can find.
  int n_held() const { return n_held_; }
  const StateSnapshotCounters& counters() const { return counters_; }
  bool exists(std::int32_t primary) const { return siblings_[at(primary)] >= 0; }
  /// Tokens of the prefix of snapshot i; 0: the slot is empty.
  int n_tokens(int i) const { return primary_of_[at(i)] >= 0 ? n_tokens_[at(i)] : 0; }

  /// Number of blocks in the longest beginning of a prefix that ends with a snapshot. `primaries`: its primary blocks.
  int n_usable(std::span<const std::int32_t> primaries) const;
  /// Adds a reference to the snapshot of a block. Returns its slot. Requires: exists(primary).
  std::int32_t adopt(std::int32_t primary);
  /// An empty slot with one reference, or the least recently used snapshot's; slot -1: a step uses all of them.
  OwnSnapshot take();
  /// The slot of a snapshot that this owner attached before, with one reference: it can be found no longer. Slot -1: it was
  /// evicted, or another sequence began with it, so that it is kept.
  OwnSnapshot take_again(const OwnSnapshot& own);
  /// Makes a taken snapshot the sibling of `primary`, and removes the reference. If `primary` already has one, the new one
  /// is given back. Returns whether the snapshot is the sibling now.
  bool attach(const OwnSnapshot& own, std::int32_t primary, int n_tokens);
  /// Removes the reference of adopt() or take().
  void release(std::int32_t slot) { pool_.release(slot - first_slot_); }
  /// Empties the slot of the snapshot of `primary`, unless a step uses it. `is_eviction`: its block was evicted.
  void forget(std::int32_t primary, bool is_eviction);

  /// True if no snapshot has a reference, and each one that can be found is the sibling of a cached primary block.
  bool consistent(const BlockPool& primary_pool) const;

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  OwnSnapshot own_of(std::int32_t snapshot) { return {.slot = first_slot_ + snapshot, .serial = ++serials_[at(snapshot)]}; }
  void detach(std::int32_t snapshot);

  BlockPool pool_;
  int first_slot_;
  int n_held_ = 0;
  StateSnapshotCounters counters_;
  std::vector<std::int32_t> siblings_;    ///< [n_primary_blocks]; -1: the block has no snapshot
  std::vector<std::int32_t> primary_of_;  ///< [n_snapshots]; -1: the slot is empty, or being written
  std::vector<std::int32_t> n_tokens_;    ///< [n_snapshots]
  std::vector<std::uint64_t> serials_;    ///< [n_snapshots], increased with each take and each adoption
};

}  // namespace lathe::engine
