// SPDX-License-Identifier: Apache-2.0
// BlockPool: the KV blocks by number, their reference counts, and the order in which free ones are given out.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe::engine {

/// Reference counts, and one intrusive list of the blocks without references. Every operation but find_run() is O(1), and
/// none allocates. Blocks are given out from the head of the list. A released block with content that a prefix lookup can
/// find goes to the tail, so the least recently used content is lost first; one without content goes to the head, so no
/// content is lost while an empty block is left. Invariant: a block is in the list exactly when its count is 0; n_used +
/// n_cached + n_free = n_blocks.
/// Thread: the engine's.
class BlockPool {
 public:
  struct Taken {
    std::int32_t block = -1;
    bool was_cached = false;  ///< a prefix lookup could still find its content: the prefix index must erase it
  };

  explicit BlockPool(int n_blocks);

  int n_blocks() const { return n_blocks_; }
  int n_available() const { return n_cached_ + n_free_; }  ///< blocks that take() can give
  int n_cached() const { return n_cached_; }               ///< available blocks with content
  int n_free() const { return n_free_; }                   ///< available blocks without content
  int n_used() const { return n_blocks_ - n_available(); }

  /// Returns the head of the list, with one reference. Requires: n_available() > 0.
  Taken take();
  /// The first of n consecutive blocks without references, the lowest such run; -1: there is none. O(n_blocks).
  std::int32_t find_run(int n) const;
  /// Returns that block, with one reference. Requires: it has none.
  Taken take_block(std::int32_t block);
  /// Adds a reference; a cached block leaves the list.
  void add_reference(std::int32_t block);
  /// Removes a reference; the last one returns the block to the list.
  void release(std::int32_t block);
  /// Sets whether prefix lookups find this block.
  void set_cached(std::int32_t block, bool cached);

  bool is_cached(std::int32_t block) const { return entries_[index(block)].cached; }
  int n_references(std::int32_t block) const { return entries_[index(block)].n_references; }

 private:
  struct Entry {
    std::int32_t previous = -1, next = -1;  ///< neighbours in the list
    std::int32_t n_references = 0;
    bool cached = false;
  };

  static std::size_t index(std::int32_t block) { return static_cast<std::size_t>(block); }
  Entry& at(std::int32_t block);
  void unlink(std::int32_t block);
  void link_head(std::int32_t block);
  void link_tail(std::int32_t block);

  std::vector<Entry> entries_;
  std::int32_t head_ = -1, tail_ = -1;
  int n_blocks_ = 0, n_cached_ = 0, n_free_ = 0;
};

}  // namespace lathe::engine
