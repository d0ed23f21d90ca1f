// SPDX-License-Identifier: Apache-2.0
// A sequence in a paged KV cache, for tests of attention.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/kernels/backends.h"

namespace lathe::tests {

using namespace lathe::kernels;

struct HeadShape {
  int n_heads;
  int n_kv_heads;
  int head_dim;
};
inline constexpr HeadShape kTiny{.n_heads = 8, .n_kv_heads = 4, .head_dim = 8};
inline constexpr HeadShape kGrouped{.n_heads = 14, .n_kv_heads = 2, .head_dim = 64};
inline constexpr HeadShape kSingle{.n_heads = 2, .n_kv_heads = 1, .head_dim = 16};

/// One sequence whose tokens lie in scattered blocks of a cache, ready to be attended from any of its rows.
class Sequence {
 public:
  Sequence(Backend& backend, const HeadShape& heads, int n_tokens, int block_size, Dtype dtype, std::uint64_t seed = 1)
      : backend_(backend),
        heads_(heads),
        n_tokens_(n_tokens),
        numbers_(seed),
        q_(Dtype::f32, {n_tokens, std::int64_t{heads.n_heads} * heads.head_dim}, numbers_, 2),
        k_(Dtype::f32, {n_tokens, std::int64_t{heads.n_kv_heads} * heads.head_dim}, numbers_, 2),
        v_(Dtype::f32, {n_tokens, std::int64_t{heads.n_kv_heads} * heads.head_dim}, numbers_) {
    const int n_blocks = (n_tokens + block_size - 1) / block_size;
    table_.resize(static_cast<std::size_t>(n_blocks));
    for (int i = 0; i < n_blocks; ++i) table_[static_cast<std::size_t>(i)] = (n_blocks - 1 - i) * 2 + 1;  // backwards, gaps
    layer_.shape = {.n_layers = 1,
                    .n_kv_heads = heads.n_kv_heads,
                    .head_dim = heads.head_dim,
                    .block_size = block_size,
                    .n_blocks = 2 * n_blocks,
                    .dtype = dtype};
    memory_ = backend.allocate(backend.kv_layer_bytes(layer_.shape));
    // Memory that nobody has written may hold anything.
    std::memset(memory_.data(), 0xff, memory_.n_bytes());
    layer_.data = memory_.data();
    std::vector<std::int32_t> slots;
    for (int t = 0; t < n_tokens; ++t) {
      slots.push_back(table_[static_cast<std::size_t>(t / block_size)] * block_size + t % block_size);
    }
    backend.kv_write(layer_, k_.view(), v_.view(), slots);
  }

  /// Sets the form of all calls that follow; the scale stays 1 / sqrt(head_dim).
  void set_form(const AttentionForm& form) { form_ = form; }

  /// body(q, batch, form) of rows [begin, end) as the last tokens of a context that ends there.
  template <class Body>
  void with_batch(int begin, int end, const Body& body) const {
    const std::int32_t query_start[] = {0, end - begin};
    const std::int32_t context_len[] = {end};
    const AttentionBatch batch{.n_seqs = 1,
                               .query_start = query_start,
                               .context_len = context_len,
                               .block_tables = table_,
                               .max_blocks = static_cast<int>(table_.size())};
    AttentionForm form = form_;
    form.scale = 1.0F / std::sqrt(static_cast<float>(heads_.head_dim));
    body(q_.view().rows(begin, end - begin), batch, form);
  }

  void attend(const TensorView& out, int begin, int end) const {
    with_batch(begin, end, [&](const TensorView& q, const AttentionBatch& batch, const AttentionForm& form) {
      backend_.attention(out, q, heads_.n_heads, layer_, batch, form);
    });
  }

  RandomTensor attend_all(int chunk) const {
    RandomTensor out({n_tokens_, q_.view().dim(1)});
    for (int begin = 0; begin < n_tokens_; begin += chunk) {
      const int end = std::min(begin + chunk, n_tokens_);
      attend(out.view().rows(begin, end - begin), begin, end);
    }
    return out;
  }

  const RandomTensor& q() const { return q_; }
  const RandomTensor& v() const { return v_; }
  const KvLayer& layer() const { return layer_; }
  const std::vector<std::int32_t>& table() const { return table_; }

 private:
  Backend& backend_;
  HeadShape heads_;
  int n_tokens_;
  RandomNumbers numbers_;
  RandomTensor q_;
  RandomTensor k_;
  RandomTensor v_;
  std::vector<std::int32_t> table_;
  KvLayer layer_;
  Buffer memory_;
  AttentionForm form_;
};

}  // namespace lathe::tests
