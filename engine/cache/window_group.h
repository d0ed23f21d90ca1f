// SPDX-License-Identifier: Apache-2.0
// WindowGroup: the blocks of the layers that see a shorter window than the first group does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/block_pool.h"
#include "engine/cache/block_table.h"

namespace lathe::engine {

/// Layers that see `window` tokens, the row's own included, and the blocks that there are for them.
struct WindowPool {
  std::int64_t window = 0;
  int n_blocks = 0;

  bool operator==(const WindowPool&) const = default;
};

/// Leading blocks that are not needed when n_computed tokens are computed. Of a window shorter than a block the last full
/// one stays: what reads in larger steps than the window begins is led to it, and what it reads there is finite.
/// `window` 0: all are needed.
int n_behind_window(std::int64_t n_computed, std::int64_t window, int block_size);

/// A pool of its own, and no prefixes of its own: a block with content that can be found lies *beside* the block of the
/// first group that holds the same tokens, and is found through that one. Requires: the first group sees farther, so a table
/// that holds a block here holds that of the same number there. Invariant: what tables hold here is never more than what
/// they hold there, nor than peak_blocks() each. So a pool with either number of blocks never runs dry, and only the first
/// group's decides who waits. Thread: the engine's.
class WindowGroup {
 public:
  WindowGroup(const WindowPool& shape, int n_first_blocks, int block_size);

  const BlockPool& pool() const { return pool_; }
  std::int64_t window() const { return window_; }
  /// The block with the tokens that `first` of the first group holds; -1: it was lost, or never kept.
  std::int32_t sibling(std::int32_t first) const { return siblings_[static_cast<std::size_t>(first)]; }

  /// Of a prefix in those blocks of the first group, the longest part whose end this group can continue. Units: blocks.
  int n_usable(std::span<const std::int32_t> firsts) const;
  /// Puts what a continuation sees into an empty row. Requires: n_usable(firsts) is all of them.
  void adopt(BlockRow& row, std::span<const std::int32_t> firsts);
  /// Grows the row to n_blocks, what was given back counted.
  void grow(BlockRow& row, int n_blocks);
  /// Lets block `number` of the row be found beside `first`. Where one is already, that takes its place.
  void publish(BlockRow& row, int number, std::int32_t first);
  void drop_behind_window(BlockRow& row, std::int64_t n_computed);
  void release(BlockRow& row);
  /// What lies beside `first` is not found any more, unless more than n_references refer to it.
  void forget(std::int32_t first, int n_references);

  /// What is found lies beside a block that is found.
  bool consistent(const BlockPool& firsts) const;

 private:
  int n_behind(std::int64_t n_blocks) const { return n_behind_window(n_blocks * block_size_, window_, block_size_); }

  BlockPool pool_;
  std::int64_t window_;
  int block_size_;
  std::vector<std::int32_t> siblings_;    ///< by block of the first group
  std::vector<std::int32_t> primary_of_;  ///< by block of this one; -1: not found by anybody
};

}  // namespace lathe::engine
