// SPDX-License-Identifier: Apache-2.0
// PagedCache: block tables of sequences over one pool, with full blocks shared between equal prefixes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cache/block_pool.h"
#include "engine/cache/block_table.h"
#include "engine/cache/prefix_index.h"
#include "engine/cache/window_group.h"

namespace lathe::engine {

/// What the cache has of a token sequence.
struct PrefixMatch {
  int n_blocks = 0;  ///< leading blocks found
  int n_wanted = 0;  ///< of them, the last ones, that a table needs: those that the window has not passed
  int n_idle = 0;    ///< of those in the list of available blocks: using them makes fewer blocks available
};

/// Most blocks of a group that a sequence of n_tokens holds at once. `window`: tokens that its layers see, 0: all;
/// `n_chunk`: most of them that one step computes.
std::int64_t peak_blocks(std::int64_t n_tokens, std::int64_t window, std::int64_t n_chunk, std::int64_t block_size);

/// Invariant: the references of a block equal the tables that it is in; a published block lies behind its whole prefix in
/// every table, and tables are released from the end, so a prefix is never evicted before what follows it; where there is a
/// window its beginning may go first, and then no lookup finds what follows.
/// Layers that see less than others have groups of their own (WindowGroup). The pool, the prefixes and all figures here are
/// those of the first group, which sees farthest; the others never lack a block, and shorten a hit where they lost what its
/// continuation would see.
/// Thread: the engine's.
class PagedCache {
 public:
  /// `window`: tokens that a row sees in the first group, itself included; 0: all. `windows`: the other groups, each with
  /// blocks for all that can run at once (WindowGroup).
  PagedCache(int n_blocks, int block_size, bool share_prefixes, std::int64_t window = 0,
             std::span<const WindowPool> windows = {});

  const BlockPool& pool() const { return pool_; }
  int block_size() const { return block_size_; }
  std::int64_t window() const { return window_; }
  std::span<const WindowGroup> windows() const { return windows_; }
  bool shares_prefixes() const { return share_prefixes_; }
  int blocks_for(std::int64_t n_tokens) const { return static_cast<int>((n_tokens + block_size_ - 1) / block_size_); }

  /// The longest known prefix in whole blocks that every group can continue. At least one token is left out, because its
  /// logits are wanted.
  PrefixMatch match(std::span<const std::int32_t> tokens, std::string_view salt);
  /// Puts the blocks of the last match() into an empty table. Returns the number of tokens that they hold.
  int adopt_match(BlockTable& table);

  /// Blocks that the table lacks for so many tokens.
  int n_missing(const BlockTable& table, std::int64_t n_tokens) const;
  /// Grows the table to hold n_tokens. Changes nothing and returns false when too few blocks are available.
  bool grow(BlockTable& table, std::int64_t n_tokens);
  /// Grows the rows of the window groups to hold n_tokens. Apart from grow(): a whole prompt may be waited for in the first
  /// group, while here only the rows of the next step have a place. Requires: grow() of as many before.
  void grow_windows(BlockTable& table, std::int64_t n_tokens) {
    table.windows.resize(windows_.size());
    for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].grow(table.windows[i], blocks_for(n_tokens));
  }
  /// Fills an empty table with blocks for n_tokens whose numbers follow each other. Changes nothing and returns false when
  /// there is no such run.
  bool take_contiguous(BlockTable& table, std::int64_t n_tokens);
  /// Makes the full blocks of the first n_tokens findable. Where an equal block is known already, that one takes the place
  /// of the table's own, which is given back: equal prefixes that were computed side by side are kept once.
  void publish(BlockTable& table, std::span<const std::int32_t> tokens, int n_tokens, std::string_view salt);
  /// Gives the blocks back that no row behind the first n_computed tokens sees. At least the last full block stays: what
  /// reads in larger steps than the window begins is led to it (readable_block()), and what it reads there is finite.
  void drop_behind_window(BlockTable& table, int n_computed);
  /// The block of such a number, or one that can be read in its place where it was given back: a kernel may look at it, and
  /// hides what it sees.
  static std::int32_t readable_block(const BlockRow& row, int number) {
    return row.blocks[static_cast<std::size_t>(number < row.n_dropped ? row.n_dropped : number)];
  }
  /// Forgets what this table published and no other one shares: its content is not to be trusted. `tokens`, `salt`: as
  /// published.
  void retract(BlockTable& table, std::span<const std::int32_t> tokens, std::string_view salt);
  /// Gives all blocks back, the last first.
  void release(BlockTable& table);

  /// Cached blocks that grow() gave a new content since the last call.
  int take_n_evicted();

 private:
  int n_behind(int n_computed) const { return n_behind_window(n_computed, window_, block_size_); }
  void shorten_match();
  void forget(const BlockTable& table, int number, std::int32_t block);
  void append(BlockTable& table, const BlockPool::Taken& taken);
  std::span<const std::int32_t> tokens_of_block(std::span<const std::int32_t> tokens, int number) const;

  BlockPool pool_;
  PrefixIndex index_;
  int block_size_;
  bool share_prefixes_;
  std::int64_t window_;
  std::vector<WindowGroup> windows_;
  int n_evicted_ = 0;
  std::vector<std::int32_t> matched_;  ///< by the last match()
};

}  // namespace lathe::engine
