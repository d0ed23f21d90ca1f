// SPDX-License-Identifier: Apache-2.0
// Attention items: division of a step's rows and contexts among warps and blocks of threads, for attention on tensor cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cuda/layout/attention_tiling.h"

namespace lathe::kernels::cuda {

/// Queries (query heads times rows) of one tensor core product.
inline constexpr int kQueryTile = 16;
/// Tokens whose scores a warp computes at a time.
inline constexpr int kScoreWindow = 64;
/// Queries of a block of threads that computes the rows of a prompt.
inline constexpr int kPromptQueries = 64;
inline constexpr int kWidePromptQueries = 128;
/// A sequence with at most so many tiles of kQueryTile queries is divided into items; more rows share what they read better
/// in tiles of a prompt.
inline constexpr int kMostFewTiles = 4;

/// Work of one warp: one part of the context of the rows of a tile, for some query heads of one KV head.
struct AttentionItem {
  AttentionTile tile;
  std::int32_t part = 0, first_part = 0, n_parts = 1;  ///< its part, and the parts that the rows of the tile attend to
  std::int32_t index = 0;                              ///< index of the tile among the tiles with items
};
static_assert(sizeof(AttentionItem) == 32);

struct TensorTiling {
  std::vector<AttentionItem> items;  ///< items of a tile are adjacent, parts ascending
  std::vector<AttentionTile> tiles;  ///< tiles of prompts, those with the longest contexts first
  int n_item_tiles = 0;              ///< tiles that have items
  int n_few_queries = 1;             ///< most queries of a tile with items
  bool merges = false;               ///< a tile has several items
};

/// Rows of a tile of `n_queries`.
constexpr std::int32_t rows_of_tile(int n_queries, int group) { return std::max(1, n_queries / group); }

/// Divides the rows of a step. `n_prompt_queries`: queries of a tile of a prompt. `has_items`: sequences with few rows may
/// be divided into items.
inline void divide_attention(TensorTiling& plan, const AttentionBatch& batch, bool is_causal, int window, int group,
                             int n_prompt_queries, bool has_items) {
  plan.items.clear();
  plan.tiles.clear();
  plan.n_item_tiles = 0;
  plan.n_few_queries = 1;
  plan.merges = false;
  const std::int32_t few = rows_of_tile(kQueryTile, group), many = rows_of_tile(n_prompt_queries, group);
  for (std::int32_t seq = 0; seq < batch.n_seqs; ++seq) {
    const auto i = static_cast<std::size_t>(seq);
    const std::int32_t begin = batch.query_start[i], end = batch.query_start[i + 1];
    const bool is_few = has_items && (end - begin + few - 1) / few <= kMostFewTiles;
    const std::int32_t most = is_few ? few : many;
    for (std::int32_t row = begin; row < end; row += most) {
      const AttentionTile tile{.row = row,
                               .n_rows = std::min(most, end - row),
                               .seq = seq,
                               .position = batch.context_len[i] - (is_causal ? end - row : 1)};
      if (!is_few) {
        plan.tiles.push_back(tile);
        continue;
      }
      const std::int32_t last = tile.position + (is_causal ? tile.n_rows - 1 : 0);
      const std::int32_t first = window > 0 ? std::max(0, tile.position + 1 - window) : 0;
      const std::int32_t first_part = first / kAttentionPart, n_parts = last / kAttentionPart + 1 - first_part;
      for (std::int32_t part = first_part; part < first_part + n_parts; ++part)
        plan.items.push_back(
            {.tile = tile, .part = part, .first_part = first_part, .n_parts = n_parts, .index = plan.n_item_tiles});
      ++plan.n_item_tiles;
      plan.n_few_queries = std::max(plan.n_few_queries, tile.n_rows * std::min(group, kQueryTile));
      plan.merges = plan.merges || n_parts > 1;
    }
  }
  std::stable_sort(plan.tiles.begin(), plan.tiles.end(), [](const AttentionTile& a, const AttentionTile& b) {
    return a.position + a.n_rows > b.position + b.n_rows;
  });
}

/// Items [begin, end) of a plan.
struct ItemRun {
  std::int32_t begin = 0, end = 0;
};

/// Divides items into runs of whole tiles, so that few parts are stored at a time: at most `most` items, or those of one
/// tile.
inline void divide_items(std::vector<ItemRun>& runs, const std::vector<AttentionItem>& items, std::int64_t most) {
  runs.clear();
  const auto n = static_cast<std::int32_t>(items.size());
  for (std::int32_t begin = 0; begin < n;) {
    const std::int32_t end = begin + items[static_cast<std::size_t>(begin)].n_parts;
    if (runs.empty() || end - runs.back().begin > most) {
      runs.push_back({begin, end});
    } else {
      runs.back().end = end;
    }
    begin = end;
  }
}

/// Units: floats of the stored part of one query: head_dim sums, the largest score and the sum of weights, padded to 16
/// bytes.
constexpr int part_floats(int head_dim) { return head_dim + 4; }

}  // namespace lathe::kernels::cuda
