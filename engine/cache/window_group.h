// SPDX-License-Identifier: Apache-2.0
// WindowGroup: KV blocks of the layers with a shorter window than the primary group's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/block_pool.h"
#include "engine/cache/block_table.h"

namespace lathe::engine {

/// Size of a window group. `window`: tokens that a token sees in the group's layers, itself included.
struct WindowPool {
  std::int64_t window = 0;
  int n_blocks = 0;

  bool operator==(const WindowPool&) const = default;
};

/// Leading blocks that no token after the first n_computed ones needs. With a window no longer than a block, the last full
/// block is kept, so that kernels that read coarser than the window find finite values there. `window` 0: all blocks are
/// needed.
int n_behind_window(std::int64_t n_computed, std::int64_t window, int block_size);

/// The group has its own pool and no prefix index: a cached block is the sibling of one primary block with the same tokens
/// and is found through that block. Requires: the primary group's window is longer, so a table that holds a block here also
/// holds the primary block of that index. Invariant: a table never holds more blocks here than in the primary group, nor
/// more than peak_blocks(). So a pool that is as large as the primary group's, or has peak_blocks() for each table, never
/// runs out, and only the primary group decides admission.
/// Thread: the engine's.
class WindowGroup {
 public:
  WindowGroup(const WindowPool& shape, int n_primary_blocks, int block_size);

  const BlockPool& pool() const { return pool_; }
  std::int64_t window() const { return window_; }
  /// The sibling of block `primary` of the primary group; -1: the sibling was evicted, or never cached.
  std::int32_t sibling(std::int32_t primary) const { return siblings_[static_cast<std::size_t>(primary)]; }

  /// Number of blocks in the longest beginning of a prefix that this group can continue. `primaries`: the primary blocks of
  /// the prefix.
  int n_usable(std::span<const std::int32_t> primaries) const;
  /// Puts the siblings of `primaries` that a continuation sees into an empty row. Requires: n_usable(primaries) =
  /// primaries.size().
  void adopt(BlockRow& row, std::span<const std::int32_t> primaries);
  /// Grows the row to n_blocks; blocks that were given back count.
  void grow(BlockRow& row, int n_blocks);
  /// Makes block `number` of the row the sibling of `primary`. If `primary` already has a sibling, the row takes that one
  /// and gives its own block back.
  void publish(BlockRow& row, int number, std::int32_t primary);
  void drop_behind_window(BlockRow& row, std::int64_t n_computed);
  void release(BlockRow& row);
  /// Removes the sibling of `primary` from lookups, unless the sibling has more than n_references references.
  void forget(std::int32_t primary, int n_references);

  /// True if each cached block is the sibling of a cached primary block.
  bool consistent(const BlockPool& primary_pool) const;

 private:
  int n_behind(std::int64_t n_blocks) const { return n_behind_window(n_blocks * block_size_, window_, block_size_); }

  BlockPool pool_;
  std::int64_t window_;
  int block_size_;
  std::vector<std::int32_t> siblings_;    ///< indexed by primary block
  std::vector<std::int32_t> primary_of_;  ///< indexed by block of this group; -1: not cached
};

}  // namespace lathe::engine
