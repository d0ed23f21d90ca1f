// SPDX-License-Identifier: Apache-2.0
#include "engine/run/chunk_rows.h"

#include <algorithm>

namespace lathe::engine {

void ChunkRows::cut(std::span<const KvRows> groups, std::int64_t chunk, int block_size) {
  LATHE_CHECK(chunk > 0 && chunk % block_size == 0);
  const std::int64_t blocks_of_chunk = chunk / block_size;
  arrays_.resize(groups.size());
  rows_.clear();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const kernels::AttentionBatch& batch = groups[g].batch;
    const auto width = static_cast<std::int64_t>(batch.max_blocks);
    const std::int64_t own_width = std::min(width, blocks_of_chunk);
    Arrays& arrays = arrays_[g];
    arrays.query_start.assign(1, 0);
    arrays.context_len.clear();
    arrays.block_tables.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.n_seqs); ++i) {
      const std::int64_t end = batch.context_len[i];
      std::int64_t position = end - (batch.query_start[i + 1] - batch.query_start[i]);
      while (position < end) {
        const std::int64_t first = position / chunk, next = std::min(end, (first + 1) * chunk);
        const std::int64_t skipped = first * blocks_of_chunk, n_blocks = std::min(own_width, width - skipped);
        const auto table = batch.block_tables.subspan(i * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
        const auto own = table.subspan(static_cast<std::size_t>(skipped), static_cast<std::size_t>(n_blocks));
        arrays.block_tables.insert(arrays.block_tables.end(), own.begin(), own.end());
        arrays.block_tables.resize(arrays.block_tables.size() + static_cast<std::size_t>(own_width - n_blocks), 0);
        arrays.query_start.push_back(arrays.query_start.back() + static_cast<std::int32_t>(next - position));
        arrays.context_len.push_back(static_cast<std::int32_t>(next - first * chunk));
        position = next;
      }
    }
    rows_.push_back({.slots = groups[g].slots,
                     .batch = {.n_seqs = static_cast<int>(arrays.context_len.size()),
                               .query_start = arrays.query_start,
                               .context_len = arrays.context_len,
                               .block_tables = arrays.block_tables,
                               .max_blocks = static_cast<int>(own_width)}});
  }
}

}  // namespace lathe::engine
