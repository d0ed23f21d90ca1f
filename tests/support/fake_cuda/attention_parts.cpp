// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_cuda/attention_parts.h"

#include <cmath>

namespace lathe::tests {

using namespace kernels::cuda;

namespace {

float to_bf16(float x) { return kernels::bf16_to_f32(kernels::f32_to_bf16(x)); }

}  // namespace

std::vector<FakeQuery> queries_of(const AttentionTile& tile, const AttentionRows& rows, int index, int n_chunks, int group,
                                  int most_queries) {
  const int kv_head = index / n_chunks, first_head = index % n_chunks * most_queries;
  const int n_heads = std::min(group - first_head, most_queries);
  require(n_heads > 0 && tile.n_rows > 0, "a tile has no query");
  require(tile.n_rows * n_heads <= most_queries, "a tile has too many queries");
  std::vector<FakeQuery> queries;
  for (int i = 0; i < tile.n_rows; ++i) {
    const int last = tile.position + (rows.is_causal ? i : 0);
    const int first = rows.window > 0 ? std::max(0, last + 1 - rows.window) : 0;
    for (int head = 0; head < n_heads; ++head)
      queries.push_back({tile.row + i, kv_head * group + first_head + head, kv_head, tile.seq, first, last});
  }
  return queries;
}

FakeAttention::FakeAttention(const Rows& q, const kernels::KvLayer& layer, const AttentionRows& rows)
    : q_(checked(q)),
      rows_(rows),
      keys_(layer, false),
      values_(layer, true),
      head_dim_(layer.shape.head_dim),
      n_kv_heads_(layer.shape.n_kv_heads),
      block_size_(layer.shape.block_size) {}

float FakeAttention::score(const float* q, const float* key, const FakeQuery& query, int token) const {
  float dot = 0;
  for (int d = 0; d < head_dim_; ++d) dot += q[d] * key[d];
  float score = dot * rows_.scale;
  if (rows_.soft_cap > 0) score = rows_.soft_cap * std::tanh(score / rows_.soft_cap);
  if (rows_.slopes == nullptr) return score;
  const float slope = *FakeDevice::elements(rows_.slopes + query.head, 1);
  if (rows_.rounded_slope_scale == 0) return score + slope * static_cast<float>(token - query.last);
  const auto bias = [&](int at) { return to_bf16(slope * to_bf16(static_cast<float>(at))); };
  return score + rows_.rounded_slope_scale * (bias(token) - bias(query.last));
}

FakePart FakeAttention::part(const FakeQuery& query, int part) const {
  FakePart made = empty();
  const int begin = std::max(part * kAttentionPart, query.first);
  const int end = std::min((part + 1) * kAttentionPart, query.last + 1);
  if (begin >= end) return made;
  require(query.row >= 0 && query.row < q_.n_rows && (query.head + 1) * head_dim_ <= q_.n_columns, "a query is not in q");
  const float* const q = q_.data + query.row * q_.stride + std::int64_t{query.head} * head_dim_;
  require((end - 1) / block_size_ < rows_.max_blocks, "a token is beyond its table of blocks");
  const std::int32_t* const table = rows_.block_tables + std::int64_t{query.seq} * rows_.max_blocks;
  FakeDevice::elements(table, (end - 1) / block_size_ + 1);
  std::vector<float> numbers(static_cast<std::size_t>(head_dim_)), scores;
  for (int token = begin; token < end; ++token) {
    keys_.load(numbers.data(), keys_.head_of(table[token / block_size_], token % block_size_, query.kv_head));
    scores.push_back(score(q, numbers.data(), query, token));
    made.largest = std::max(made.largest, scores.back());
  }
  for (int token = begin; token < end; ++token) {
    const float weight = std::exp(scores[static_cast<std::size_t>(token - begin)] - made.largest);
    made.sum += weight;
    values_.load(numbers.data(), values_.head_of(table[token / block_size_], token % block_size_, query.kv_head));
    for (std::size_t d = 0; d < numbers.size(); ++d) made.values[d] += weight * numbers[d];
  }
  return made;
}

void FakeAttention::merge(FakePart& total, const FakePart& part) {
  if (part.largest == -std::numeric_limits<float>::infinity()) return;
  const float largest = std::max(total.largest, part.largest);
  const float of_total = std::exp(total.largest - largest), of_part = std::exp(part.largest - largest);
  total.largest = largest;
  total.sum = total.sum * of_total + part.sum * of_part;
  for (std::size_t d = 0; d < total.values.size(); ++d)
    total.values[d] = total.values[d] * of_total + part.values[d] * of_part;
}

void FakeAttention::finish(FakePart& total, const FakeQuery& query) const {
  if (rows_.sinks != nullptr)
    merge(total, {.values = std::vector<float>(total.values.size()),
                  .largest = *FakeDevice::elements(rows_.sinks + query.head, 1),
                  .sum = 1});
  for (float& value : total.values) value /= total.sum;
}

FakePart FakeAttention::whole(const FakeQuery& query) const {
  FakePart total = empty();
  for (int at = query.first / kAttentionPart; at <= query.last / kAttentionPart; ++at) merge(total, part(query, at));
  finish(total, query);
  return total;
}

}  // namespace lathe::tests
