// SPDX-License-Identifier: Apache-2.0
// PagedCache: block tables of sequences over one pool of KV blocks; equal prefixes share full blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cache/block_pool.h"
#include "engine/cache/block_table.h"
#include "engine/cache/prefix_index.h"
#include "engine/cache/slot_pool.h"
#include "engine/cache/state_snapshots.h"
#include "engine/cache/window_group.h"

namespace lathe::engine {

/// The part of a token sequence that is cached.
struct PrefixMatch {
  int n_blocks = 0;  ///< leading blocks found
  int n_wanted = 0;  ///< found blocks that a table needs: those that the window has not passed
  int n_idle = 0;    ///< needed blocks without references: adopting them makes fewer blocks available
  /// Leading blocks whose K and V were found; more than n_blocks if the nearest snapshot of the recurrent states is before.
  int n_kv_blocks = 0;
};

/// Most blocks of a group that a sequence of n_tokens holds at once. `window`: tokens that the group's layers see, 0: all;
/// `n_chunk`: most tokens of the sequence that one step computes.
std::int64_t peak_blocks(std::int64_t n_tokens, std::int64_t window, std::int64_t n_chunk, std::int64_t block_size);

/// Invariant: a block has one reference for each table that holds it. A published block follows its whole prefix in every
/// table, and tables are released from the end, so a prefix is never evicted before the blocks that follow it; with a window
/// the beginning of a prefix may be evicted first, and then no lookup finds the rest.
/// Layers with a shorter window have groups of their own (WindowGroup). The pool, the prefixes and all counts here are those
/// of the primary group, whose window is the longest. Window groups never run out of blocks. A match is cut short where a
/// window group has lost a block that the tokens after the match would see, and in models with recurrent layers to the last
/// block with a snapshot of their states (StateSnapshots).
/// Thread: the engine's.
class PagedCache {
 public:
  /// `window`: tokens that a token sees in the primary group, itself included; 0: all. `windows`: the window groups, each
  /// with blocks for all sequences that can run at once (WindowGroup). `n_state_slots`: sequences that can run at once, if
  /// the model has recurrent layers; 0: it has none. `n_snapshots`: of their states, with the slots after these. Requires:
  /// with slots prefixes are shared only if there are snapshots, since blocks hold nothing of the states after a prefix.
  PagedCache(int n_blocks, int block_size, bool share_prefixes, std::int64_t window = 0,
             std::span<const WindowPool> windows = {}, int n_state_slots = 0, int n_snapshots = 0);

  const BlockPool& pool() const { return pool_; }
  int block_size() const { return block_size_; }
  std::int64_t window() const { return window_; }
  std::span<const WindowGroup> windows() const { return windows_; }
  bool shares_prefixes() const { return share_prefixes_; }
  const SlotPool& state_slots() const { return state_slots_; }
  /// None: the model has no recurrent layers, or shares no prefixes.
  const std::optional<StateSnapshots>& snapshots() const { return snapshots_; }
  int blocks_for(std::int64_t n_tokens) const { return static_cast<int>((n_tokens + block_size_ - 1) / block_size_); }

  /// Finds the longest cached prefix in whole blocks that every group can continue, and recurrent layers too. The prefix
  /// never includes the last token: a step must compute the logits of that token.
  PrefixMatch match(std::span<const std::int32_t> tokens, std::string_view salt);
  /// Puts the blocks of the last match() into an empty table, which continues with the snapshot of the last one. Returns the
  /// number of tokens that they hold.
  int adopt_match(BlockTable& table);

  /// Gives the table a slot of states, if the model has recurrent layers. Requires: a free slot, and a table without one.
  void take_state_slot(BlockTable& table);

  /// Has the next step write a snapshot of the table's states after its first n_tokens tokens. `is_of_answer`: it takes the
  /// slot of the table's last snapshot of that kind. Without a slot that may be written, or without recurrent layers,
  /// nothing happens. Requires: n_tokens end a block, and ascend from call to call.
  void take_snapshot(BlockTable& table, int n_tokens, bool is_of_answer);

  /// Blocks that the table lacks to hold n_tokens.
  int n_missing(const BlockTable& table, std::int64_t n_tokens) const;
  /// Grows the table's row of the primary group to hold n_tokens. Changes nothing and returns false if too few blocks are
  /// available.
  bool grow(BlockTable& table, std::int64_t n_tokens);
  /// Grows the rows of the window groups to hold n_tokens. Separate from grow(), because the primary group may hold blocks
  /// for a whole prompt, window groups only for the rows of the next step. Requires: grow() to at least as many tokens
  /// before.
  void grow_windows(BlockTable& table, std::int64_t n_tokens) {
    table.windows.resize(windows_.size());
    for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].grow(table.windows[i], blocks_for(n_tokens));
  }
  /// Fills an empty table with consecutive blocks for n_tokens. Changes nothing and returns false if there is no such run.
  bool take_contiguous(BlockTable& table, std::int64_t n_tokens);
  /// Makes the full blocks of the first n_tokens findable. If the index already has an equal block, the table takes
  /// that block and gives its own back: equal prefixes that were computed at the same time are kept once. The snapshots that
  /// the step wrote become findable, and the one that it read is given back. Requires: every group still holds the blocks to
  /// publish, so publish() comes before drop_behind_window().
  void publish(BlockTable& table, std::span<const std::int32_t> tokens, int n_tokens, std::string_view salt);
  /// Gives back the blocks of each group that no token after the first n_computed ones sees. Keeps at least the last full
  /// block: readable_block() redirects kernels that read coarser than the window to a held block, where they find finite
  /// values, which they mask.
  void drop_behind_window(BlockTable& table, int n_computed);
  /// The row's block of index `number`, or the first held block if that one was given back: kernels may read the block in
  /// its place, and mask the values.
  static std::int32_t readable_block(const BlockRow& row, int number) {
    return row.blocks[static_cast<std::size_t>(number < row.n_dropped ? row.n_dropped : number)];
  }
  /// Removes from lookups the blocks that this table published and no other table shares, because their content is not to be
  /// trusted. `tokens`, `salt`: as published.
  void retract(BlockTable& table, std::span<const std::int32_t> tokens, std::string_view salt);
  /// Gives back all blocks, the last first, the slot of states, and snapshots that no step completed.
  void release(BlockTable& table);

  /// Cached blocks of the primary group whose content grow() or take_contiguous() evicted since the last call. Resets the
  /// count.
  int take_n_evicted();

 private:
  int n_behind(int n_computed) const { return n_behind_window(n_computed, window_, block_size_); }
  void shorten_match();
  void shorten_to_snapshot();
  void forget(const BlockTable& table, int number, std::int32_t block);
  void append(BlockTable& table, const BlockPool::Taken& taken);
  void publish_snapshots(BlockTable& table);
  void release_snapshots(BlockTable& table);
  std::span<const std::int32_t> tokens_of_block(std::span<const std::int32_t> tokens, int number) const;

  BlockPool pool_;
  PrefixIndex index_;
  int block_size_;
  bool share_prefixes_;
  std::int64_t window_;
  std::vector<WindowGroup> windows_;
  SlotPool state_slots_;
  std::optional<StateSnapshots> snapshots_;
  int n_evicted_ = 0;
  std::vector<std::int32_t> matched_;  ///< blocks of the last match()
};

}  // namespace lathe::engine
