// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/reference/reference_ops.h"
#include "kernels/formats/element.h"

namespace lathe::kernels::reference {
namespace {

std::int64_t n_elements_of_k(const KvShape& shape) {
  return static_cast<std::int64_t>(shape.n_blocks) * shape.n_kv_heads * shape.block_size * shape.head_dim;
}

std::int64_t element_of(const KvShape& shape, std::int64_t slot, std::int64_t kv_head) {
  const std::int64_t block = slot / shape.block_size;
  const std::int64_t offset = slot % shape.block_size;
  return ((block * shape.n_kv_heads + kv_head) * shape.block_size + offset) * shape.head_dim;
}

/// out [head_dim] = softmax(q K^T * scale) V over the first n_visible tokens of the sequence.
void attend(float* out, const float* q, std::int64_t kv_head, const KvLayer& layer, const std::int32_t* block_table,
            std::int64_t n_visible, float scale) {
  const KvShape& shape = layer.shape;
  const std::int64_t v_begin = n_elements_of_k(shape);
  std::vector<std::int64_t> element(static_cast<std::size_t>(n_visible));
  std::vector<double> score(static_cast<std::size_t>(n_visible));
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < score.size(); ++t) {
    const auto token = static_cast<std::int64_t>(t);
    const std::int64_t block = block_table[token / shape.block_size];
    element[t] = element_of(shape, block * shape.block_size + token % shape.block_size, kv_head);
    double dot = 0;
    for (int d = 0; d < shape.head_dim; ++d) {
      dot += static_cast<double>(q[d]) * load_element(layer.data, shape.dtype, element[t] + d);
    }
    score[t] = dot * scale;
    largest = std::max(largest, score[t]);
  }
  double sum = 0;
  for (double& s : score) {
    s = std::exp(s - largest);
    sum += s;
  }
  for (int d = 0; d < shape.head_dim; ++d) {
    double value = 0;
    for (std::size_t t = 0; t < score.size(); ++t) {
      value += score[t] * load_element(layer.data, shape.dtype, v_begin + element[t] + d);
    }
    out[d] = static_cast<float>(value / sum);
  }
}

}  // namespace

std::size_t kv_layer_bytes(const KvShape& shape) {
  return 2 * static_cast<std::size_t>(n_elements_of_k(shape)) * size_of(shape.dtype);
}

void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots) {
  const KvShape& shape = layer.shape;
  const std::int64_t v_begin = n_elements_of_k(shape);
  for (std::int64_t m = 0; m < k.dim(0); ++m) {
    const std::int64_t slot = slots[static_cast<std::size_t>(m)];
    LATHE_CHECK(slot >= 0 && slot < static_cast<std::int64_t>(shape.n_blocks) * shape.block_size);
    for (int head = 0; head < shape.n_kv_heads; ++head) {
      const std::int64_t element = element_of(shape, slot, head);
      for (int d = 0; d < shape.head_dim; ++d) {
        store_element(layer.data, shape.dtype, element + d, k.row<float>(m)[head * shape.head_dim + d]);
        store_element(layer.data, shape.dtype, v_begin + element + d, v.row<float>(m)[head * shape.head_dim + d]);
      }
    }
  }
}

void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
               float scale) {
  const KvShape& shape = layer.shape;
  const int group = n_heads / shape.n_kv_heads;
  for (int i = 0; i < batch.n_seqs; ++i) {
    const auto seq = static_cast<std::size_t>(i);
    const std::int32_t* block_table = batch.block_tables.data() + static_cast<std::int64_t>(i) * batch.max_blocks;
    const std::int32_t end = batch.query_start[seq + 1];
    for (std::int32_t row = batch.query_start[seq]; row < end; ++row) {
      const std::int32_t position = batch.context_len[seq] - (end - row);
      for (int head = 0; head < n_heads; ++head) {
        const std::int64_t column = static_cast<std::int64_t>(head) * shape.head_dim;
        attend(out.row<float>(row) + column, q.row<float>(row) + column, head / group, layer, block_table, position + 1,
               scale);
      }
    }
  }
}

}  // namespace lathe::kernels::reference
