// SPDX-License-Identifier: Apache-2.0
// PagedCache: block tables of sequences over one pool, with full blocks shared between equal prefixes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cache/block_pool.h"
#include "engine/cache/prefix_index.h"

namespace lathe::engine {

/// The blocks that one sequence refers to, in the order of its tokens.
struct BlockTable {
  std::vector<std::int32_t> blocks;     ///< -1: given back, behind the window
  int n_dropped = 0;                    ///< leading blocks that were given back
  int n_adopted = 0;                    ///< leading blocks that came from the prefix index
  int n_published = 0;                  ///< leading blocks that the prefix index knows
  PrefixNode published = kEmptyPrefix;  ///< the prefix that they hold

  std::span<const std::int32_t> held() const { return std::span(blocks).subspan(static_cast<std::size_t>(n_dropped)); }
  int n_held() const { return static_cast<int>(blocks.size()) - n_dropped; }
};

/// What the cache has of a token sequence.
struct PrefixMatch {
  int n_blocks = 0;  ///< leading blocks found
  int n_wanted = 0;  ///< of them, the last ones, that a table needs: those that the window has not passed
  int n_idle = 0;    ///< of those in the list of available blocks: using them makes fewer blocks available
};

/// Most blocks that a sequence of n_tokens holds at once. `window`: tokens that every layer sees, 0: all; `n_chunk`: most of
/// them that one step computes.
std::int64_t peak_blocks(std::int64_t n_tokens, std::int64_t window, std::int64_t n_chunk, std::int64_t block_size);

/// Invariant: the references of a block equal the tables that it is in; a published block lies behind its whole prefix in
/// every table, and tables are released from the end, so a prefix is never evicted before what follows it; where there is a
/// window its beginning may go first, and then no lookup finds what follows.
/// Thread: the engine's.
class PagedCache {
 public:
  /// `window`: tokens that a row sees in every layer, itself included; 0: some layer sees all.
  PagedCache(int n_blocks, int block_size, bool share_prefixes, std::int64_t window = 0);

  const BlockPool& pool() const { return pool_; }
  int block_size() const { return block_size_; }
  std::int64_t window() const { return window_; }
  bool shares_prefixes() const { return share_prefixes_; }
  int blocks_for(std::int64_t n_tokens) const { return static_cast<int>((n_tokens + block_size_ - 1) / block_size_); }

  /// The longest known prefix in whole blocks. At least one token is left out, because its logits are wanted.
  PrefixMatch match(std::span<const std::int32_t> tokens, std::string_view salt);
  /// Puts the blocks of the last match() into an empty table. Returns the number of tokens that they hold.
  int adopt_match(BlockTable& table);

  /// Blocks that the table lacks for so many tokens.
  int n_missing(const BlockTable& table, std::int64_t n_tokens) const;
  /// Grows the table to hold n_tokens. Changes nothing and returns false when too few blocks are available.
  bool grow(BlockTable& table, std::int64_t n_tokens);
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
  static std::int32_t readable_block(const BlockTable& table, int number) {
    return table.blocks[static_cast<std::size_t>(number < table.n_dropped ? table.n_dropped : number)];
  }
  /// Forgets what this table published and no other one shares: its content is not to be trusted. `tokens`, `salt`: as
  /// published.
  void retract(BlockTable& table, std::span<const std::int32_t> tokens, std::string_view salt);
  /// Gives all blocks back, the last first.
  void release(BlockTable& table);

  /// Cached blocks that grow() gave a new content since the last call.
  int take_n_evicted();

 private:
  /// Leading blocks that are not needed when n_computed tokens are computed.
  int n_behind_window(int n_computed) const;
  void forget(std::int32_t block, int n_references);
  void append(BlockTable& table, const BlockPool::Taken& taken);
  std::span<const std::int32_t> tokens_of_block(std::span<const std::int32_t> tokens, int number) const;

  BlockPool pool_;
  PrefixIndex index_;
  int block_size_;
  bool share_prefixes_;
  std::int64_t window_;
  int n_evicted_ = 0;
  std::vector<std::int32_t> matched_;  ///< by the last match()
};

}  // namespace lathe::engine
