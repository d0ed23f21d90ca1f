// SPDX-License-Identifier: Apache-2.0
// The fake kernels on heads of Q, K and V.
#include <algorithm>
#include <vector>

#include "tests/support/fake_cuda/head_functions.h"
#include "tests/support/fake_cuda/kv_cache.h"
#include "tests/support/fake_cuda/prepared_rows.h"

namespace lathe::kernels::cuda {
namespace {

using namespace lathe::tests;

void write_head(const KvNumbers& numbers, const KvShape& shape, std::int32_t slot, int kv_head, const float* head) {
  numbers.store(numbers.head_of(slot / shape.block_size, slot % shape.block_size, kv_head), head);
}

void finish_head(const QkvHeads& heads, float* numbers, int head, const std::int32_t* rope_row) {
  const int kv_head = head - heads.n_heads;
  const bool is_q = kv_head < 0;
  const RopeRows& rope = is_q ? heads.q_rope : heads.k_rope;
  const HeadNorm& norm = is_q ? heads.q_norm : heads.k_norm;
  if (heads.clamp > 0) std::for_each(numbers, numbers + heads.head_dim, [&](float& x) { x = clamped(x, heads.clamp); });
  if (kv_head >= heads.n_kv_heads) return;  // V
  if (norm.rows.weight != nullptr) {
    const std::int64_t first = norm.has_own_weights ? (is_q ? head : kv_head) * heads.head_dim : 0;
    normalise(numbers, numbers, heads.head_dim, norm.rows, first);
  }
  if (rope.cos.n_columns > 0) rotate(numbers, rope, *FakeDevice::elements(rope_row, 1));
}

}  // namespace

void rope(Stream stream, const Rows& x, int n_heads, int head_dim, const std::int32_t* positions, const RopeRows& rope) {
  if (x.n_rows == 0 || rope.cos.n_columns == 0) return;
  launch_kernel(stream, "rope", [=] {
    checked(x);
    require(std::int64_t{n_heads} * head_dim == x.n_columns && 2 * rope.cos.n_columns <= head_dim, "heads have other sizes");
    FakeDevice::elements(positions, x.n_rows);
    for (std::int64_t row = 0; row < x.n_rows; ++row)
      for (int head = 0; head < n_heads; ++head) rotate(x.data + row * x.stride + head * head_dim, rope, positions[row]);
  });
}

void kv_write(Stream stream, const KvLayer& layer, const Rows& k, const Rows& v, const std::int32_t* slots) {
  if (k.n_rows == 0) return;
  launch_kernel(stream, "kv_write", [=] {
    const KvNumbers keys(layer, false), values(layer, true);
    require(checked(k).n_rows == checked(v).n_rows, "K and V have other rows");
    FakeDevice::elements(slots, k.n_rows);
    for (std::int64_t row = 0; row < k.n_rows; ++row) {
      for (int head = 0; head < layer.shape.n_kv_heads; ++head) {
        const std::int64_t first = std::int64_t{head} * layer.shape.head_dim;
        write_head(keys, layer.shape, slots[row], head, k.data + row * k.stride + first);
        write_head(values, layer.shape, slots[row], head, v.data + row * v.stride + first);
      }
    }
  });
}

void finish_qkv(Stream stream, const QkvHeads& heads, const std::int32_t* rope_rows, const KvLayer& layer,
                const std::int32_t* slots) {
  if (heads.qkv.n_rows == 0) return;
  launch_kernel(stream, "finish_qkv", [=] {
    const KvNumbers keys(layer, false), values(layer, true);
    checked(heads.qkv);
    const int n_heads = heads.n_heads + 2 * heads.n_kv_heads;
    require(heads.qkv.n_columns == std::int64_t{n_heads} * heads.head_dim, "heads have other sizes");
    FakeDevice::elements(slots, heads.qkv.n_rows);
    for (std::int64_t row = 0; row < heads.qkv.n_rows; ++row) {
      for (int head = 0; head < n_heads; ++head) {
        float* const numbers = heads.qkv.data + row * heads.qkv.stride + std::int64_t{head} * heads.head_dim;
        finish_head(heads, numbers, head, rope_rows + row);
        const int kv_head = head - heads.n_heads;
        if (kv_head < 0) continue;
        const bool is_v = kv_head >= heads.n_kv_heads;
        write_head(is_v ? values : keys, layer.shape, slots[row], kv_head % heads.n_kv_heads, numbers);
      }
    }
  });
}

}  // namespace lathe::kernels::cuda
