// SPDX-License-Identifier: Apache-2.0
// BlockPool: the numbers of the KV blocks, who refers to them, and which one is given out next.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe::engine {

/// Reference counts and one intrusive list of the blocks that nobody refers to; every operation but find_run() is O(1), and
/// none allocates. The list gives from its head. A released block with content that a prefix lookup can find goes to the
/// tail, so the least recently used content is lost first; one without content goes to the head, so nothing is lost while an
/// empty one is left. Invariant: a block is in the list exactly when its count is 0; n_used + n_cached + n_free = n_blocks.
/// Thread: the engine's.
class BlockPool {
 public:
  struct Taken {
    std::int32_t block = -1;
    bool was_cached = false;  ///< its content was still findable: the prefix index must forget it
  };

  explicit BlockPool(int n_blocks);

  int n_blocks() const { return n_blocks_; }
  int n_available() const { return n_cached_ + n_free_; }  ///< blocks that take() can give
  int n_cached() const { return n_cached_; }               ///< of them with content
  int n_free() const { return n_free_; }                   ///< of them without
  int n_used() const { return n_blocks_ - n_available(); }

  /// The head of the list, with one reference. Requires: n_available() > 0.
  Taken take();
  /// The lowest of n blocks with consecutive numbers that nobody refers to; -1: there are none. O(n_blocks).
  std::int32_t find_run(int n) const;
  /// That block, with one reference. Requires: nobody refers to it.
  Taken take_block(std::int32_t block);
  /// One reference more; a cached block leaves the list.
  void add_reference(std::int32_t block);
  /// One reference less; the last one puts the block back into the list.
  void release(std::int32_t block);
  /// Whether prefix lookups find this block.
  void set_cached(std::int32_t block, bool cached);

  bool is_cached(std::int32_t block) const { return entries_[index(block)].cached; }
  int n_references(std::int32_t block) const { return entries_[index(block)].n_references; }

 private:
  struct Entry {
    std::int32_t previous = -1, next = -1;  ///< in the list
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
