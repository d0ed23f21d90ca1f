// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/paged_cache.h"

#include <algorithm>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::engine {

std::int64_t peak_blocks(std::int64_t n_tokens, std::int64_t window, std::int64_t n_chunk, std::int64_t block_size) {
  const auto blocks_for = [&](std::int64_t n) { return (n + block_size - 1) / block_size; };
  if (window == 0) return blocks_for(n_tokens);
  // The window may begin and the chunk may end within a block; with a window no longer than a block, the last full
  // block stays.
  return std::min(blocks_for(n_tokens), blocks_for(std::max(window, block_size) + n_chunk) + 1);
}

PagedCache::PagedCache(int n_blocks, int block_size, bool share_prefixes, std::int64_t window,
                       std::span<const WindowPool> windows, int n_state_slots, int n_snapshots)
    : pool_(n_blocks),
      index_(n_blocks, block_size),
      block_size_(block_size),
      share_prefixes_(share_prefixes),
      window_(window),
      state_slots_(n_state_slots) {
  LATHE_CHECK(!share_prefixes || (n_snapshots > 0) == (n_state_slots > 0));
  if (share_prefixes && n_snapshots > 0) snapshots_.emplace(n_snapshots, n_state_slots, n_blocks);
  matched_.reserve(static_cast<std::size_t>(n_blocks));
  for (const WindowPool& shape : windows) windows_.emplace_back(shape, n_blocks, block_size);
}

PrefixMatch PagedCache::match(std::span<const std::int32_t> tokens, std::string_view salt) {
  matched_.clear();
  PrefixMatch found;
  if (!share_prefixes_) return found;
  PrefixNode prefix = kEmptyPrefix;
  const int n_whole = (static_cast<int>(tokens.size()) - 1) / block_size_;
  for (int i = 0; i < n_whole; ++i) {
    const std::int32_t block = index_.find(prefix, tokens_of_block(tokens, i), salt);
    if (block < 0) break;
    matched_.push_back(block);
    prefix = index_.node_of(block);
  }
  shorten_match();
  found.n_kv_blocks = static_cast<int>(matched_.size());
  shorten_to_snapshot();
  found.n_blocks = static_cast<int>(matched_.size());
  const int n_passed = n_behind(found.n_blocks * block_size_);
  found.n_wanted = found.n_blocks - n_passed;
  for (int i = n_passed; i < found.n_blocks; ++i) {
    if (pool_.n_references(matched_[static_cast<std::size_t>(i)]) == 0) ++found.n_idle;
  }
  return found;
}

/// Shortens the match until every group can continue it: a length that suits one group may be too long for another.
void PagedCache::shorten_match() {
  for (std::size_t n_agreed = 0; n_agreed < windows_.size();) {
    n_agreed = 0;
    for (const WindowGroup& group : windows_) {
      const auto n = static_cast<std::size_t>(group.n_usable(matched_));
      if (n == matched_.size()) ++n_agreed;
      matched_.resize(n);
    }
  }
}

/// Shortens the match to a block with a snapshot that every group can continue.
void PagedCache::shorten_to_snapshot() {
  for (std::size_t n_before = matched_.size() + 1; snapshots_ && n_before != matched_.size();) {
    n_before = matched_.size();
    matched_.resize(static_cast<std::size_t>(snapshots_->n_usable(matched_)));
    shorten_match();
  }
}

int PagedCache::adopt_match(BlockTable& table) {
  LATHE_CHECK(table.blocks.empty());
  table.windows.resize(windows_.size());
  for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].adopt(table.windows[i], matched_);
  table.n_dropped = n_behind(static_cast<int>(matched_.size()) * block_size_);
  table.blocks.assign(static_cast<std::size_t>(table.n_dropped), -1);
  for (const std::int32_t block : std::span(matched_).subspan(table.blocks.size())) {
    pool_.add_reference(block);
    table.blocks.push_back(block);
  }
  table.n_adopted = table.n_published = static_cast<int>(matched_.size());
  table.published = matched_.empty() ? kEmptyPrefix : index_.node_of(matched_.back());
  if (snapshots_ && !matched_.empty()) table.state_source = snapshots_->adopt(matched_.back());
  matched_.clear();
  return table.n_published * block_size_;
}

void PagedCache::take_state_slot(BlockTable& table) {
  LATHE_CHECK(table.state_slot < 0);
  if (state_slots_.n_slots() > 0) table.state_slot = state_slots_.take();
}

void PagedCache::take_snapshot(BlockTable& table, int n_tokens, bool is_of_answer) {
  if (!snapshots_ || table.pending.is_full()) return;
  LATHE_DCHECK(n_tokens > 0 && n_tokens % block_size_ == 0);
  OwnSnapshot own;
  if (is_of_answer) own = snapshots_->take_again(std::exchange(table.answer_snapshot, OwnSnapshot{}));
  if (own.slot < 0) own = snapshots_->take();
  if (own.slot >= 0) table.pending.add({.n_tokens = n_tokens, .own = own, .is_of_answer = is_of_answer});
}

void PagedCache::publish_snapshots(BlockTable& table) {
  if (!snapshots_) return;
  for (const PendingSnapshot& pending : table.pending.all()) {
    const int number = pending.n_tokens / block_size_ - 1;
    LATHE_CHECK(number < table.n_published);
    const bool is_kept = snapshots_->attach(pending.own, table.blocks[static_cast<std::size_t>(number)], pending.n_tokens);
    if (is_kept && pending.is_of_answer) table.answer_snapshot = pending.own;
  }
  table.pending.clear();
  if (table.state_source >= 0) snapshots_->release(std::exchange(table.state_source, -1));
}

void PagedCache::release_snapshots(BlockTable& table) {
  if (!snapshots_) return;
  for (const PendingSnapshot& pending : table.pending.all()) snapshots_->release(pending.own.slot);
  table.pending.clear();
  if (table.state_source >= 0) snapshots_->release(std::exchange(table.state_source, -1));
  table.answer_snapshot = {};
}

int PagedCache::n_missing(const BlockTable& table, std::int64_t n_tokens) const {
  return std::max(0, blocks_for(n_tokens) - static_cast<int>(table.blocks.size()));
}

bool PagedCache::grow(BlockTable& table, std::int64_t n_tokens) {
  const int n_new = n_missing(table, n_tokens);
  if (n_new > pool_.n_available()) return false;
  for (int i = 0; i < n_new; ++i) append(table, pool_.take());
  return true;
}

bool PagedCache::take_contiguous(BlockTable& table, std::int64_t n_tokens) {
  LATHE_CHECK(table.blocks.empty());
  const int n_new = blocks_for(n_tokens);
  const std::int32_t first = pool_.find_run(n_new);
  if (first < 0) return false;
  for (std::int32_t block = first; block < first + n_new; ++block) append(table, pool_.take_block(block));
  return true;
}

void PagedCache::publish(BlockTable& table, std::span<const std::int32_t> tokens, int n_tokens, std::string_view salt) {
  if (!share_prefixes_) return;
  for (; (table.n_published + 1) * block_size_ <= n_tokens; ++table.n_published) {
    std::int32_t& block = table.blocks[static_cast<std::size_t>(table.n_published)];
    const auto content = tokens_of_block(tokens, table.n_published);
    const std::int32_t known = index_.find(table.published, content, salt);
    if (known >= 0) {
      pool_.add_reference(known);
      pool_.release(std::exchange(block, known));
    } else {
      index_.insert(block, table.published, content, salt);
      pool_.set_cached(block, true);
    }
    table.published = index_.node_of(block);
    for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].publish(table.windows[i], table.n_published, block);
  }
  publish_snapshots(table);
}

void PagedCache::drop_behind_window(BlockTable& table, int n_computed) {
  for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].drop_behind_window(table.windows[i], n_computed);
  for (const int n = n_behind(n_computed); table.n_dropped < n; ++table.n_dropped) {
    pool_.release(std::exchange(table.blocks[static_cast<std::size_t>(table.n_dropped)], -1));
  }
}

void PagedCache::retract(BlockTable& table, std::span<const std::int32_t> tokens, std::string_view salt) {
  // The index may still find blocks that the table gave back, up to the first one that was evicted meanwhile.
  PrefixNode prefix = kEmptyPrefix;
  for (int i = 0; i < std::min(table.n_dropped, table.n_published); ++i) {
    const std::int32_t block = index_.find(prefix, tokens_of_block(tokens, i), salt);
    if (block < 0) break;
    prefix = index_.node_of(block);
    if (i >= table.n_adopted) forget(table, i, block);
  }
  for (int i = table.n_published - 1; i >= std::max(table.n_adopted, table.n_dropped); --i) {
    forget(table, i, table.blocks[static_cast<std::size_t>(i)]);
  }
}

/// Removes the table's block of index `number` from lookups, in each group, unless other tables refer to that block too.
/// `block`: the primary block of that index, which the table may have given back.
void PagedCache::forget(const BlockTable& table, int number, std::int32_t block) {
  const auto n_own = [number](const BlockRow& row) { return number < row.n_dropped ? 0 : 1; };
  for (std::size_t i = 0; i < windows_.size(); ++i) windows_[i].forget(block, n_own(table.windows[i]));
  if (snapshots_) snapshots_->forget(block, false);
  if (pool_.n_references(block) > n_own(table)) return;
  index_.erase(block);
  pool_.set_cached(block, false);
}

void PagedCache::release(BlockTable& table) {
  release_snapshots(table);
  for (auto i = static_cast<int>(table.blocks.size()); i-- > table.n_dropped;) {
    pool_.release(table.blocks[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < table.windows.size(); ++i) windows_[i].release(table.windows[i]);
  if (table.state_slot >= 0) state_slots_.release(std::exchange(table.state_slot, -1));
  table.blocks.clear();
  table.n_dropped = table.n_adopted = table.n_published = 0;
  table.published = kEmptyPrefix;
}

int PagedCache::take_n_evicted() { return std::exchange(n_evicted_, 0); }

void PagedCache::append(BlockTable& table, const BlockPool::Taken& taken) {
  if (taken.was_cached) {
    index_.erase(taken.block);
    for (WindowGroup& group : windows_) group.forget(taken.block, 0);
    if (snapshots_) snapshots_->forget(taken.block, true);
    ++n_evicted_;
  }
  table.blocks.push_back(taken.block);
}

std::span<const std::int32_t> PagedCache::tokens_of_block(std::span<const std::int32_t> tokens, int number) const {
  const auto size = static_cast<std::size_t>(block_size_);
  return tokens.subspan(static_cast<std::size_t>(number) * size, size);
}

}  // namespace lathe::engine
