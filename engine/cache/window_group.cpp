// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/window_group.h"

#include <algorithm>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::engine {

int n_behind_window(std::int64_t n_computed, std::int64_t window, int block_size) {
  if (window == 0) return 0;
  const std::int64_t first_seen = n_computed + 1 - window;
  const std::int64_t last_full = n_computed / block_size - 1;
  return static_cast<int>(std::max<std::int64_t>(0, std::min(first_seen / block_size, last_full)));
}

WindowGroup::WindowGroup(const WindowPool& shape, int n_primary_blocks, int block_size)
    : pool_(shape.n_blocks),
      window_(shape.window),
      block_size_(block_size),
      siblings_(static_cast<std::size_t>(n_primary_blocks), -1),
      primary_of_(static_cast<std::size_t>(shape.n_blocks), -1) {
  LATHE_CHECK(window_ > 0);
}

int WindowGroup::n_usable(std::span<const std::int32_t> primaries) const {
  auto n = static_cast<int>(primaries.size());
  // A block that is missing here is missing for every longer beginning too, so each block is checked once.
  for (int i = n - 1; i >= n_behind(n); --i) {
    if (sibling(primaries[static_cast<std::size_t>(i)]) < 0) n = i;
  }
  return n;
}

void WindowGroup::adopt(BlockRow& row, std::span<const std::int32_t> primaries) {
  LATHE_CHECK(row.blocks.empty());
  row.n_dropped = n_behind(std::ssize(primaries));
  row.blocks.assign(static_cast<std::size_t>(row.n_dropped), -1);
  for (const std::int32_t primary : primaries.subspan(row.blocks.size())) {
    pool_.add_reference(sibling(primary));
    row.blocks.push_back(sibling(primary));
  }
}

void WindowGroup::grow(BlockRow& row, int n_blocks) {
  while (static_cast<int>(row.blocks.size()) < n_blocks) {
    const BlockPool::Taken taken = pool_.take();
    if (taken.was_cached)
      siblings_[static_cast<std::size_t>(std::exchange(primary_of_[static_cast<std::size_t>(taken.block)], -1))] = -1;
    row.blocks.push_back(taken.block);
  }
}

void WindowGroup::publish(BlockRow& row, int number, std::int32_t primary) {
  std::int32_t& block = row.blocks[static_cast<std::size_t>(number)];
  if (const std::int32_t known = sibling(primary); known >= 0) {
    pool_.add_reference(known);
    pool_.release(std::exchange(block, known));
    return;
  }
  siblings_[static_cast<std::size_t>(primary)] = block;
  primary_of_[static_cast<std::size_t>(block)] = primary;
  pool_.set_cached(block, true);
}

void WindowGroup::drop_behind_window(BlockRow& row, std::int64_t n_computed) {
  for (const int n = n_behind_window(n_computed, window_, block_size_); row.n_dropped < n; ++row.n_dropped) {
    pool_.release(std::exchange(row.blocks[static_cast<std::size_t>(row.n_dropped)], -1));
  }
}

void WindowGroup::release(BlockRow& row) {
  for (auto i = static_cast<int>(row.blocks.size()); i-- > row.n_dropped;) {
    pool_.release(row.blocks[static_cast<std::size_t>(i)]);
  }
  row.blocks.clear();
  row.n_dropped = 0;
}

void WindowGroup::forget(std::int32_t primary, int n_references) {
  std::int32_t& block = siblings_[static_cast<std::size_t>(primary)];
  if (block < 0 || pool_.n_references(block) > n_references) return;
  primary_of_[static_cast<std::size_t>(block)] = -1;
  pool_.set_cached(std::exchange(block, -1), false);
}

bool WindowGroup::consistent(const BlockPool& primary_pool) const {
  int n_siblings = 0, n_cached = 0;
  for (std::int32_t primary = 0; primary < primary_pool.n_blocks(); ++primary) {
    const std::int32_t block = sibling(primary);
    if (block < 0) continue;
    ++n_siblings;
    if (!primary_pool.is_cached(primary) || !pool_.is_cached(block) ||
        primary_of_[static_cast<std::size_t>(block)] != primary)
      return false;
  }
  for (std::int32_t block = 0; block < pool_.n_blocks(); ++block) n_cached += pool_.is_cached(block) ? 1 : 0;
  return n_siblings == n_cached;
}

}  // namespace lathe::engine
