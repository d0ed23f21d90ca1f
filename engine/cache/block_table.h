// SPDX-License-Identifier: Apache-2.0
// BlockTable: the KV blocks that one sequence refers to, in every group of layers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "engine/cache/prefix_index.h"

namespace lathe::engine {

/// Blocks of one group, in the order of the sequence's tokens.
struct BlockRow {
  std::vector<std::int32_t> blocks;  ///< -1: given back, because the window has passed it
  int n_dropped = 0;                 ///< leading blocks that were given back

  std::span<const std::int32_t> held() const { return std::span(blocks).subspan(static_cast<std::size_t>(n_dropped)); }
  int n_held() const { return static_cast<int>(blocks.size()) - n_dropped; }
};

/// A snapshot that a sequence took (StateSnapshots). `serial` tells it from others that have had the slot.
struct OwnSnapshot {
  std::int32_t slot = -1;
  std::uint64_t serial = 0;
};

/// A snapshot that the step in progress writes: the states after the first n_tokens tokens.
struct PendingSnapshot {
  int n_tokens = 0;
  OwnSnapshot own{};
  bool is_of_answer = false;
};

/// The snapshots that a step writes of one sequence, ascending by tokens, in memory of its own: a step allocates nothing.
class PendingSnapshots {
 public:
  static constexpr std::size_t kMost = 8;

  bool is_full() const { return n_ == kMost; }
  void add(const PendingSnapshot& snapshot) { snapshots_[n_++] = snapshot; }
  void clear() { n_ = 0; }
  std::span<const PendingSnapshot> all() const { return std::span(snapshots_).first(n_); }

 private:
  std::array<PendingSnapshot, kMost> snapshots_{};
  std::size_t n_ = 0;
};

/// The BlockTable itself is the row of the primary group, whose window is the longest.
struct BlockTable : BlockRow {
  int n_adopted = 0;                    ///< leading blocks that came from the prefix index
  int n_published = 0;                  ///< leading blocks that are in the prefix index
  PrefixNode published = kEmptyPrefix;  ///< the prefix of those blocks
  std::int32_t state_slot = -1;  ///< of its states in all recurrent layers; -1: the model has none, or it does not run
  /// Slot of the snapshot with which the sequence continues in its first step; -1: with its own state, or with zeros.
  std::int32_t state_source = -1;
  PendingSnapshots pending{};
  OwnSnapshot answer_snapshot{};    ///< the last one of the answer, whose slot the next one takes
  std::vector<BlockRow> windows{};  ///< one for each window group
};

/// Blocks first, first + 1, ... in every group, and a slot of states, for texts that share the cache with no request: they
/// belong to no pool.
inline BlockTable consecutive_blocks(std::int32_t first, std::int64_t n_blocks, std::size_t n_windows = 0,
                                     std::int32_t state_slot = 0) {
  BlockTable table;
  table.state_slot = state_slot;
  table.blocks.resize(static_cast<std::size_t>(n_blocks));
  std::iota(table.blocks.begin(), table.blocks.end(), first);
  table.windows.assign(n_windows, table);
  return table;
}

}  // namespace lathe::engine
