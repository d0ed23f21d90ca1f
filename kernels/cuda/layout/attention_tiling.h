// SPDX-License-Identifier: Apache-2.0
// Attention tiling: division of a step's rows and contexts among the blocks of threads of a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels::cuda {

/// Tokens of one part of a context, which is summed separately. Parts begin at multiples of this number and are added in
/// order, so a row's bits do not depend on how many blocks of threads share its parts.
inline constexpr int kAttentionPart = 256;
/// Tokens whose scores are computed at a time.
inline constexpr int kAttentionWindow = 32;

/// Rows of one sequence that a block of threads computes together.
struct AttentionTile {
  std::int32_t row = 0, n_rows = 0;
  std::int32_t seq = 0;
  std::int32_t position = 0;  ///< position of the first row; if not causal, the last position of the context, for all rows
};

/// Most queries (query heads times rows) of a block of threads. kFewQueries suffice for decoding with few query heads per KV
/// head, and are all that fit into shared memory if head_dim exceeds kLongHead.
inline constexpr int kFewQueries = 4, kManyQueries = 16;
inline constexpr int kLongHead = 320;

struct AttentionTiling {
  std::vector<AttentionTile> tiles;
  int n_queries = kManyQueries;
  int n_parts = 1;   ///< parts of the longest context
  int n_splits = 1;  ///< blocks of threads that share the parts of a row; 1: no merge of parts afterwards
};

inline void tile_attention(AttentionTiling& plan, const AttentionBatch& batch, bool is_causal, int n_heads,
                           const KvShape& shape, int n_processors) {
  const int group = n_heads / shape.n_kv_heads;
  std::int32_t longest = 1, most_rows = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.n_seqs); ++i) {
    longest = std::max(longest, batch.context_len[i]);
    most_rows = std::max(most_rows, batch.query_start[i + 1] - batch.query_start[i]);
  }
  const bool has_few = shape.head_dim > kLongHead || most_rows * group <= kFewQueries;
  plan.n_queries = has_few ? kFewQueries : kManyQueries;
  const std::int32_t most = std::max(1, plan.n_queries / group);
  plan.tiles.clear();
  for (std::int32_t seq = 0; seq < batch.n_seqs; ++seq) {
    const auto i = static_cast<std::size_t>(seq);
    const std::int32_t end = batch.query_start[i + 1];
    for (std::int32_t row = batch.query_start[i]; row < end; row += most) {
      plan.tiles.push_back({.row = row,
                            .n_rows = std::min(most, end - row),
                            .seq = seq,
                            .position = batch.context_len[i] - (is_causal ? end - row : 1)});
    }
  }
  plan.n_parts = (longest + kAttentionPart - 1) / kAttentionPart;
  const int n_chunks = (group + plan.n_queries - 1) / plan.n_queries;
  const auto n_blocks = std::max<std::int64_t>(1, std::ssize(plan.tiles) * shape.n_kv_heads * n_chunks);
  // Two blocks on each multiprocessor hide each other's latency; more would only add merging.
  const std::int64_t wanted = (2 * static_cast<std::int64_t>(n_processors) + n_blocks - 1) / n_blocks;
  plan.n_splits = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, plan.n_parts));
}

/// Units: floats that store the parts of all rows until they are merged: head_dim sums, the largest score and the sum of
/// weights for each part.
constexpr std::int64_t partial_floats(std::int64_t n_rows, int n_heads, int head_dim, int n_parts) {
  return n_rows * n_heads * n_parts * (head_dim + 2);
}

}  // namespace lathe::kernels::cuda
