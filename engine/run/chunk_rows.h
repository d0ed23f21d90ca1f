// SPDX-License-Identifier: Apache-2.0
// ChunkRows: the rows of a step for layers in which a row sees the tokens of its own chunk alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/layers/model_input.h"

namespace lathe::engine {

/// Attention sees each chunk of a sequence as a sequence of its own, whose blocks begin with those of the chunk. So any
/// kernel computes chunks, and a row has the same bits in any batch.
class ChunkRows {
 public:
  /// Cuts the rows of each group of layers where they cross into another chunk. `groups` and their arrays are read until the
  /// step has ended. Requires: a chunk is a whole number of blocks.
  void cut(std::span<const KvRows> groups, std::int64_t chunk, int block_size);
  /// The rows of the last cut(), by group. The arrays live until the next one.
  std::span<const KvRows> rows() const { return rows_; }

 private:
  struct Arrays {
    std::vector<std::int32_t> query_start, context_len, block_tables;
  };
  std::vector<Arrays> arrays_;  ///< by group
  std::vector<KvRows> rows_;
};

}  // namespace lathe::engine
