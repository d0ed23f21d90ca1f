// SPDX-License-Identifier: Apache-2.0
// Parts of contexts for the fake kernels of attention, which compute and merge them with the same functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cuda/ops/ops.h"
#include "tests/support/fake_cuda/kv_cache.h"
#include "tests/support/fake_cuda/prepared_rows.h"

namespace lathe::tests {

/// A head of a row, and the tokens that it attends to.
struct FakeQuery {
  std::int64_t row = 0;
  int head = 0, kv_head = 0, seq = 0;
  int first = 0, last = 0;
};

/// Queries of a tile for some query heads of one KV head: `index` counts KV heads times chunks of `most_heads`.
std::vector<FakeQuery> queries_of(const kernels::cuda::AttentionTile& tile, const kernels::cuda::AttentionRows& rows,
                                  int index, int n_chunks, int group, int most_queries);

/// Weighted sum of V of some tokens, the largest score, and the sum of weights.
struct FakePart {
  std::vector<float> values;
  float largest = -std::numeric_limits<float>::infinity(), sum = 0;
};

/// The operands of attention.
class FakeAttention {
 public:
  /// Errors: throws DeviceFault if an operand is not in one allocation.
  FakeAttention(const kernels::cuda::Rows& q, const kernels::KvLayer& layer, const kernels::cuda::AttentionRows& rows);

  /// Computes tokens of part `part` that the query attends to.
  FakePart part(const FakeQuery& query, int part) const;
  FakePart empty() const { return {.values = std::vector<float>(static_cast<std::size_t>(head_dim_))}; }
  static void merge(FakePart& total, const FakePart& part);
  /// Adds the sink and divides by the sum.
  void finish(FakePart& total, const FakeQuery& query) const;
  /// All parts, merged in order.
  FakePart whole(const FakeQuery& query) const;
  int head_dim() const { return head_dim_; }
  int n_kv_heads() const { return n_kv_heads_; }

 private:
  float score(const float* q, const float* key, const FakeQuery& query, int token) const;

  kernels::cuda::Rows q_;
  kernels::cuda::AttentionRows rows_;
  KvNumbers keys_, values_;
  int head_dim_, n_kv_heads_, block_size_;
};

}  // namespace lathe::tests
