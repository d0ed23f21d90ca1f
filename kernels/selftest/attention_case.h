// SPDX-License-Identifier: Apache-2.0
// AttentionCase: sequences in a paged cache.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/selftest/random_tensor.h"

namespace lathe::kernels {

/// A batch with the last rows of some contexts, whose blocks are in random order.
struct AttentionCase {
  std::vector<std::int32_t> query_start, context_len;
  int max_blocks = 0;
  std::vector<std::int32_t> block_tables, slots;

  AttentionCase(std::vector<std::int32_t> starts, std::vector<std::int32_t> contexts, int block_size, RandomNumbers& numbers)
      : query_start(std::move(starts)), context_len(std::move(contexts)) {
    const std::int32_t longest = *std::max_element(context_len.begin(), context_len.end());
    max_blocks = (longest + block_size - 1) / block_size;
    block_tables.resize(context_len.size() * static_cast<std::size_t>(max_blocks));
    std::iota(block_tables.begin(), block_tables.end(), 0);
    for (std::size_t i = block_tables.size(); i > 1; --i) {
      std::swap(block_tables[i - 1], block_tables[static_cast<std::size_t>(numbers.below(static_cast<std::int32_t>(i)))]);
    }
    for (std::size_t seq = 0; seq < context_len.size(); ++seq) {
      for (int t = 0; t < context_len[seq]; ++t) {
        const auto block =
            block_tables[seq * static_cast<std::size_t>(max_blocks) + static_cast<std::size_t>(t / block_size)];
        slots.push_back(block * block_size + t % block_size);
      }
    }
  }
  AttentionBatch batch() const {
    return {.n_seqs = static_cast<int>(context_len.size()),
            .query_start = query_start,
            .context_len = context_len,
            .block_tables = block_tables,
            .max_blocks = max_blocks};
  }
};

}  // namespace lathe::kernels
