// SPDX-License-Identifier: Apache-2.0
// Writes K and V of new tokens to the cache.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/heads.cuh"

namespace lathe::kernels::cuda {
namespace {

/// Each warp writes one head of K or V of one row.
template <class T>
__global__ void write_heads(KvHalf<T> k_half, KvHalf<T> v_half, Rows k, Rows v, const std::int32_t* slots) {
  let_next_begin();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  const int kv_head = static_cast<int>(blockIdx.y) / 2;
  const bool is_v = blockIdx.y % 2 != 0;
  const Rows& from = is_v ? v : k;
  write_head(is_v ? v_half : k_half, slots[row], kv_head,
             from.data + row * from.stride + static_cast<std::int64_t>(kv_head) * k_half.head_dim);
}

}  // namespace

void kv_write(Stream stream, const KvLayer& layer, const Rows& k, const Rows& v, const std::int32_t* slots) {
  if (k.n_rows == 0) return;
  const dim3 grid(static_cast<unsigned>(k.n_rows), static_cast<unsigned>(2 * layer.shape.n_kv_heads));
  for_kv_type(layer.shape.dtype, [&](auto number) {
    using T = decltype(number);
    launch_dependent(write_heads<T>, grid, kWarp, 0, stream, kv_half<T>(layer, false), kv_half<T>(layer, true), k, v, slots);
  });
}

}  // namespace lathe::kernels::cuda
