// SPDX-License-Identifier: Apache-2.0
// CacheOccupancy: tokens of the held KV blocks, and how many of them are waste.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/cache/paged_cache.h"

namespace lathe::engine {

/// Units: tokens. Source: Kwon et al. 2023, figure 2, with three kinds of waste. The third, external fragmentation, does not
/// occur, because every reservation has the same length.
struct CacheOccupancy {
  std::int64_t n_held = 0;      ///< tokens of all blocks in tables; a shared block counts for each table
  std::int64_t n_reserved = 0;  ///< tokens of blocks without content that a sequence needs
  std::int64_t n_unfilled = 0;  ///< tokens after the last one in blocks with such content

  /// Adds a table whose first n_tokens are written and needed.
  void add(const BlockTable& table, std::int64_t n_tokens, int block_size) { count(table, n_tokens, block_size, 1); }
  /// Undoes add() of the same table and tokens.
  void subtract(const BlockTable& table, std::int64_t n_tokens, int block_size) { count(table, n_tokens, block_size, -1); }

 private:
  void count(const BlockTable& table, std::int64_t n_tokens, int block_size, int sign) {
    const std::int64_t n_room = std::int64_t{table.n_held()} * block_size;
    n_tokens = std::max<std::int64_t>(0, n_tokens - std::int64_t{table.n_dropped} * block_size);
    const std::int64_t n_in_use = (n_tokens + block_size - 1) / block_size * block_size;
    n_held += sign * n_room;
    n_reserved += sign * (n_room - n_in_use);
    n_unfilled += sign * (n_in_use - n_tokens);
  }
};

}  // namespace lathe::engine
