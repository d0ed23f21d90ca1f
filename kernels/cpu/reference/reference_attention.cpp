// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/reference/reference_ops.h"
#include "kernels/formats/element.h"
#include "kernels/formats/kv_int8.h"

namespace lathe::kernels::reference {
namespace {

std::int64_t n_elements_of_k(const KvShape& shape) {
  return static_cast<std::int64_t>(shape.n_blocks) * shape.n_kv_heads * shape.block_size * shape.head_dim;
}

/// K or V of a layer: heads of tokens, [token of a block][head_dim]; the scales of int8, one per head, follow after K and V
/// of the whole layer.
class KvHalf {
 public:
  KvHalf(const KvLayer& layer, bool is_v) : shape_(layer.shape) {
    const auto n_elements = static_cast<std::size_t>(n_elements_of_k(shape_));
    auto* const data = static_cast<std::byte*>(layer.data);
    elements_ = data + (is_v ? n_elements * size_of(shape_.dtype) : 0);
    scales_ = reinterpret_cast<float*>(data + 2 * n_elements * size_of(shape_.dtype));
    if (is_v) scales_ += n_elements_of_k(shape_) / shape_.head_dim;
  }

  void write(std::int64_t slot, std::int64_t kv_head, std::span<const float> numbers) const {
    const std::int64_t begin = head_of(slot, kv_head) * shape_.head_dim;
    if (shape_.dtype == Dtype::i8) {
      const float scale = kv_scale(numbers);
      scales_[head_of(slot, kv_head)] = scale;
      auto* const codes = reinterpret_cast<std::int8_t*>(elements_) + begin;
      for (std::size_t d = 0; d < numbers.size(); ++d) codes[d] = kv_code(numbers[d], scale);
      return;
    }
    for (std::size_t d = 0; d < numbers.size(); ++d) {
      store_element(elements_, shape_.dtype, begin + static_cast<std::int64_t>(d), numbers[d]);
    }
  }

  float read(std::int64_t slot, std::int64_t kv_head, std::int64_t d) const {
    const std::int64_t element = head_of(slot, kv_head) * shape_.head_dim + d;
    if (shape_.dtype != Dtype::i8) return load_element(elements_, shape_.dtype, element);
    return static_cast<float>(reinterpret_cast<const std::int8_t*>(elements_)[element]) * scales_[head_of(slot, kv_head)];
  }

 private:
  std::int64_t head_of(std::int64_t slot, std::int64_t kv_head) const {
    const std::int64_t block = slot / shape_.block_size;
    return (block * shape_.n_kv_heads + kv_head) * shape_.block_size + slot % shape_.block_size;
  }

  const KvShape& shape_;
  std::byte* elements_;
  float* scales_;
};

/// Size of the scales of K and V. Units: bytes.
std::size_t scale_bytes(const KvShape& shape) {
  if (shape.dtype != Dtype::i8) return 0;
  return 2 * static_cast<std::size_t>(n_elements_of_k(shape) / shape.head_dim) * sizeof(float);
}

/// Query of one head of one row.
struct Query {
  const float* q;  ///< [head_dim]
  std::int32_t position;
  std::size_t head;
  std::int64_t kv_head;
};

float rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

double alibi_of(const Query& query, std::int64_t token, const AttentionForm& form) {
  const float slope = form.slopes[query.head];
  if (form.rounded_slope_scale == 0) return slope * static_cast<double>(token - query.position);
  const auto bias = [&](std::int64_t at) { return static_cast<double>(rounded(slope * rounded(static_cast<float>(at)))); };
  return (bias(token) - bias(query.position)) * form.rounded_slope_scale;
}

double score_of(double dot, const Query& query, std::int64_t token, const AttentionForm& form) {
  double score = dot * form.scale;
  if (form.soft_cap > 0) score = form.soft_cap * std::tanh(score / form.soft_cap);
  if (!form.slopes.empty()) score += alibi_of(query, token, form);
  return score;
}

/// out [head_dim] = softmax of the scores times V over the tokens that the row sees.
void attend(float* out, const Query& query, const KvLayer& layer, const std::int32_t* block_table,
            const AttentionForm& form) {
  const KvShape& shape = layer.shape;
  const KvHalf k(layer, false);
  const KvHalf v(layer, true);
  const std::int64_t kv_head = query.kv_head;
  const std::int64_t first = form.window > 0 ? std::max(0, query.position + 1 - form.window) : 0;
  const auto n_visible = static_cast<std::size_t>(query.position + 1 - first);
  std::vector<std::int64_t> slot(n_visible);
  std::vector<double> score(n_visible);
  const bool has_sink = !form.sinks.empty();
  double largest = has_sink ? form.sinks[query.head] : -std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < score.size(); ++t) {
    const std::int64_t token = first + static_cast<std::int64_t>(t);
    const std::int64_t block = block_table[token / shape.block_size];
    slot[t] = block * shape.block_size + token % shape.block_size;
    double dot = 0;
    for (int d = 0; d < shape.head_dim; ++d) dot += static_cast<double>(query.q[d]) * k.read(slot[t], kv_head, d);
    score[t] = score_of(dot, query, token, form);
    largest = std::max(largest, score[t]);
  }
  double sum = has_sink ? std::exp(form.sinks[query.head] - largest) : 0;
  for (double& s : score) {
    s = std::exp(s - largest);
    sum += s;
  }
  for (int d = 0; d < shape.head_dim; ++d) {
    double value = 0;
    for (std::size_t t = 0; t < score.size(); ++t) value += score[t] * v.read(slot[t], kv_head, d);
    out[d] = static_cast<float>(value / sum);
  }
}

}  // namespace

std::size_t kv_layer_bytes(const KvShape& shape) {
  return 2 * static_cast<std::size_t>(n_elements_of_k(shape)) * size_of(shape.dtype) + scale_bytes(shape);
}

void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots) {
  const KvShape& shape = layer.shape;
  const KvHalf k_half(layer, false);
  const KvHalf v_half(layer, true);
  const auto n = static_cast<std::size_t>(shape.head_dim);
  for (std::int64_t m = 0; m < k.dim(0); ++m) {
    const std::int64_t slot = slots[static_cast<std::size_t>(m)];
    LATHE_CHECK(slot >= 0 && slot < static_cast<std::int64_t>(shape.n_blocks) * shape.block_size);
    for (int head = 0; head < shape.n_kv_heads; ++head) {
      k_half.write(slot, head, {k.row<float>(m) + head * shape.head_dim, n});
      v_half.write(slot, head, {v.row<float>(m) + head * shape.head_dim, n});
    }
  }
}

void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
               const AttentionForm& form) {
  const KvShape& shape = layer.shape;
  const int group = n_heads / shape.n_kv_heads;
  for (int i = 0; i < batch.n_seqs; ++i) {
    const auto seq = static_cast<std::size_t>(i);
    const std::int32_t* block_table = batch.block_tables.data() + static_cast<std::int64_t>(i) * batch.max_blocks;
    const std::int32_t end = batch.query_start[seq + 1];
    for (std::int32_t row = batch.query_start[seq]; row < end; ++row) {
      const std::int32_t position = batch.context_len[seq] - (form.is_causal ? end - row : 1);
      for (int head = 0; head < n_heads; ++head) {
        const std::int64_t column = static_cast<std::int64_t>(head) * shape.head_dim;
        const Query query{q.row<float>(row) + column, position, static_cast<std::size_t>(head), head / group};
        attend(out.row<float>(row) + column, query, layer, block_table, form);
      }
    }
  }
}

}  // namespace lathe::kernels::reference
