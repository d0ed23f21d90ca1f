// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/block_pool.h"

#include "kernels/api/check.h"

namespace lathe::engine {

BlockPool::BlockPool(int n_blocks) : entries_(static_cast<std::size_t>(n_blocks)), n_blocks_(n_blocks), n_free_(n_blocks) {
  for (std::int32_t block = 0; block < n_blocks; ++block) link_tail(block);
}

BlockPool::Taken BlockPool::take() {
  LATHE_CHECK(head_ >= 0);
  return take_block(head_);
}

std::int32_t BlockPool::find_run(int n) const {
  if (n <= 0 || n > n_available()) return -1;
  int length = 0;
  for (std::int32_t block = 0; block < n_blocks_; ++block) {
    length = entries_[index(block)].n_references == 0 ? length + 1 : 0;
    if (length == n) return block - n + 1;
  }
  return -1;
}

BlockPool::Taken BlockPool::take_block(std::int32_t block) {
  Entry& entry = at(block);
  LATHE_CHECK(entry.n_references == 0);
  unlink(block);
  const Taken taken{.block = block, .was_cached = entry.cached};
  --(entry.cached ? n_cached_ : n_free_);
  entry.cached = false;
  entry.n_references = 1;
  return taken;
}

void BlockPool::add_reference(std::int32_t block) {
  Entry& entry = at(block);
  if (entry.n_references == 0) {
    LATHE_CHECK(entry.cached);  // only take() and take_block() give out a block without content
    unlink(block);
    --n_cached_;
  }
  ++entry.n_references;
}

void BlockPool::release(std::int32_t block) {
  Entry& entry = at(block);
  LATHE_CHECK(entry.n_references > 0);
  if (--entry.n_references > 0) return;
  if (entry.cached) {
    link_tail(block);
    ++n_cached_;
  } else {
    link_head(block);
    ++n_free_;
  }
}

void BlockPool::set_cached(std::int32_t block, bool cached) {
  Entry& entry = at(block);
  if (entry.cached == cached) return;
  entry.cached = cached;
  if (entry.n_references > 0) return;
  n_cached_ += cached ? 1 : -1;
  n_free_ += cached ? -1 : 1;
  unlink(block);
  cached ? link_tail(block) : link_head(block);
}

BlockPool::Entry& BlockPool::at(std::int32_t block) {
  LATHE_CHECK(block >= 0 && block < n_blocks_);
  return entries_[index(block)];
}

void BlockPool::unlink(std::int32_t block) {
  Entry& entry = at(block);
  (entry.previous >= 0 ? at(entry.previous).next : head_) = entry.next;
  (entry.next >= 0 ? at(entry.next).previous : tail_) = entry.previous;
  entry.previous = entry.next = -1;
}

void BlockPool::link_head(std::int32_t block) {
  Entry& entry = at(block);
  entry.previous = -1;
  entry.next = head_;
  (head_ >= 0 ? at(head_).previous : tail_) = block;
  head_ = block;
}

void BlockPool::link_tail(std::int32_t block) {
  Entry& entry = at(block);
  entry.next = -1;
  entry.previous = tail_;
  (tail_ >= 0 ? at(tail_).next : head_) = block;
  tail_ = block;
}

}  // namespace lathe::engine
