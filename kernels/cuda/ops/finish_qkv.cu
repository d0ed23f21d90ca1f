// SPDX-License-Identifier: Apache-2.0
// The second half of project_qkv(), after the product: clamp, norms of heads, RoPE, and K and V into the cache, in one
// kernel.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/heads.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;

/// Each warp finishes one head of one row, which it keeps in shared memory; heads before `first_head` are left as they are.
/// Positions and slots are read before the wait: copies have written them, which a kernel behind them does not overtake.
template <class T>
__global__ void __launch_bounds__(kThreads) finish_heads(QkvHeads heads, int first_head, KvHalf<T> k_half, KvHalf<T> v_half,
                                                         const std::int32_t* rope_rows, const std::int32_t* slots) {
  extern __shared__ float memory[];
  let_next_begin();
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_of_warp(), dim = heads.head_dim;
  const int head = first_head + static_cast<int>(blockIdx.y) * kWarps + warp;
  const int kv_head = head - heads.n_heads;  // counts the heads of K, then those of V
  if (kv_head >= 2 * heads.n_kv_heads) return;
  const bool is_q = kv_head < 0, is_v = kv_head >= heads.n_kv_heads;
  const std::int64_t row = blockIdx.x;
  const RopeRows& rope = is_q ? heads.q_rope : heads.k_rope;
  const HeadNorm& norm = is_q ? heads.q_norm : heads.k_norm;
  const bool turns = !is_v && rope.cos.n_columns > 0, normalises = !is_v && norm.rows.weight != nullptr;
  const std::int64_t position = turns ? rope_rows[row] : 0, slot = slots[row];
  float* const own = memory + warp * dim;
  float* const numbers = heads.qkv.data + row * heads.qkv.stride + static_cast<std::int64_t>(head) * dim;

  wait_for_previous();
  for (int d = lane; d < dim; d += kWarp) own[d] = heads.clamp > 0 ? clamped(numbers[d], heads.clamp) : numbers[d];
  if (normalises) norm_head(own, dim, norm.rows, norm.has_own_weights ? (is_q ? head : kv_head) * dim : 0);
  if (turns) {
    __syncwarp();
    for (int i = lane; i < rope.cos.n_columns; i += kWarp) turn_pair(own, i, rope, position);
    __syncwarp();
  }
  if (turns || normalises || heads.clamp > 0) {
    for (int d = lane; d < dim; d += kWarp) numbers[d] = own[d];
  }
  if (is_q) return;
  write_head(is_v ? v_half : k_half, slot, is_v ? kv_head - heads.n_kv_heads : kv_head, own);
}

}  // namespace

void finish_qkv(Stream stream, const QkvHeads& heads, const std::int32_t* rope_rows, const KvLayer& layer,
                const std::int32_t* slots) {
  if (heads.qkv.n_rows == 0) return;
  const bool changes_q = heads.clamp > 0 || heads.q_norm.rows.weight != nullptr || heads.q_rope.cos.n_columns > 0;
  const int first_head = changes_q ? 0 : heads.n_heads;
  const int n_heads = heads.n_heads + 2 * heads.n_kv_heads - first_head;
  const dim3 grid(static_cast<unsigned>(heads.qkv.n_rows), static_cast<unsigned>(div_up(n_heads, kWarps)));
  const std::size_t n_bytes = static_cast<std::size_t>(kWarps * heads.head_dim) * sizeof(float);
  for_kv_type(layer.shape.dtype, [&](auto number) {
    using T = decltype(number);
    launch_dependent(finish_heads<T>, grid, kThreads, n_bytes, stream, heads, first_head, kv_half<T>(layer, false),
                     kv_half<T>(layer, true), rope_rows, slots);
  });
}

}  // namespace lathe::kernels::cuda
