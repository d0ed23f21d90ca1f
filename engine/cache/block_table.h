// SPDX-License-Identifier: Apache-2.0
// BlockTable: the blocks that one sequence refers to, in every group of layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/prefix_index.h"

namespace lathe::engine {

/// The blocks of one group, in the order of the sequence's tokens.
struct BlockRow {
  std::vector<std::int32_t> blocks;  ///< -1: given back, behind the window
  int n_dropped = 0;                 ///< leading blocks that were given back

  std::span<const std::int32_t> held() const { return std::span(blocks).subspan(static_cast<std::size_t>(n_dropped)); }
  int n_held() const { return static_cast<int>(blocks.size()) - n_dropped; }
};

/// Itself the row of the first group, which sees farthest.
struct BlockTable : BlockRow {
  int n_adopted = 0;                    ///< leading blocks that came from the prefix index
  int n_published = 0;                  ///< leading blocks that the prefix index knows
  PrefixNode published = kEmptyPrefix;  ///< the prefix that they hold
  std::vector<BlockRow> windows{};      ///< one a window group
};

}  // namespace lathe::engine
