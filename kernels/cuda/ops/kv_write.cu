// SPDX-License-Identifier: Apache-2.0
// Writes K and V of new tokens to the cache. Scales of 8-bit caches: kernels/formats/kv_int8.h.
#include "kernels/cuda/ops/kv.cuh"
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

/// Scale of a head's 8-bit codes: the largest magnitude / 127, or NaN if an element is infinite or NaN. All threads of the
/// warp that has the head return the same scale.
__device__ float scale_of_head(const float* head, int head_dim) {
  float largest = 0, poison = 0;  // 0 times infinity, or times NaN, is NaN
  for (int d = threadIdx.x; d < head_dim; d += kWarp) {
    largest = fmaxf(largest, fabsf(head[d]));
    poison += head[d] * 0.0F;
  }
  for (int other = kWarp / 2; other > 0; other /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, other));
    poison += __shfl_xor_sync(0xffffffffU, poison, other);
  }
  return largest / 127 + poison;
}

template <class T>
__device__ void write_head(const KvHalf<T>& half, std::int64_t slot, int kv_head, const float* head) {
  const std::int64_t at = half.head_of(slot / half.block_size, static_cast<int>(slot % half.block_size), kv_head);
  T* const to = half.numbers + at * half.head_dim;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    const float scale = scale_of_head(head, half.head_dim);
    if (threadIdx.x == 0) half.scales[at] = scale;
    for (int d = threadIdx.x; d < half.head_dim; d += kWarp) {
      const float steps = fminf(fmaxf(head[d] / scale, -127.0F), 127.0F);
      to[d] = scale > 0 ? static_cast<std::int8_t>(rintf(steps)) : std::int8_t{0};
    }
  } else {
    for (int d = threadIdx.x; d < half.head_dim; d += kWarp) store_number(to[d], head[d]);
  }
}

/// Each warp writes one head of K or V of one row.
template <class T>
__global__ void write_heads(KvHalf<T> k_half, KvHalf<T> v_half, Rows k, Rows v, const std::int32_t* slots) {
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
    write_heads<T><<<grid, kWarp, 0, stream>>>(kv_half<T>(layer, false), kv_half<T>(layer, true), k, v, slots);
  });
  check_launch();
}

}  // namespace lathe::kernels::cuda
