// SPDX-License-Identifier: Apache-2.0
// Work of one warp on one head of Q, K or V: norm, RoPE and the write into the KV cache. Operations on heads and the kernel
// that does all of it share these functions, so their results have the same bits.
#pragma once

#include <type_traits>

#include "kernels/cuda/ops/kv.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarp; }

/// The sum over the threads of a warp, returned to each of them; the order of the additions is fixed.
__device__ inline float sum_of_warp(float number) {
  for (int other = kWarp / 2; other > 0; other /= 2) number += __shfl_xor_sync(0xffffffffU, number, other);
  return number;
}

// Comparisons with NaN are false, so NaN stays NaN.
__device__ inline float clamped(float x, float limit) { return x < -limit ? -limit : x > limit ? limit : x; }

/// Normalises a head of n elements in place. Its weights begin at element `first` of those of the norm. Each thread reads
/// and writes elements lane, lane + 32, ... alone.
__device__ inline void norm_head(float* head, int n, const NormRows& norm, int first) {
  const int lane = lane_of_warp();
  float mean = 0, squares = 0;
  if (norm.kind == NormKind::layer) {
    for (int i = lane; i < n; i += kWarp) mean += head[i];
    mean = sum_of_warp(mean) / static_cast<float>(n);
  }
  for (int i = lane; i < n; i += kWarp) squares = fmaf(head[i] - mean, head[i] - mean, squares);
  const float scale = 1.0F / sqrtf(sum_of_warp(squares) / static_cast<float>(n) + norm.eps);
  for (int i = lane; i < n; i += kWarp) {
    const float bias = norm.bias != nullptr ? norm.bias[first + i] : 0.0F;
    head[i] = fmaf((head[i] - mean) * scale, norm.weight[first + i], bias);
  }
}

/// Rotates pair i of a head by the angle of its position. Source: Su et al. 2021.
__device__ inline void turn_pair(float* head, int i, const RopeRows& rope, std::int64_t position) {
  const int half = static_cast<int>(rope.cos.n_columns);
  float& a = rope.style == RopeStyle::half ? head[i] : head[2 * i];
  float& b = rope.style == RopeStyle::half ? head[i + half] : head[2 * i + 1];
  const float c = rope.cos.data[position * rope.cos.stride + i], s = rope.sin.data[position * rope.sin.stride + i];
  const float turned_a = fmaf(a, c, -__fmul_rn(b, s)), turned_b = fmaf(b, c, __fmul_rn(a, s));
  a = turned_a;
  b = turned_b;
}

/// Scale of a head's 8-bit codes: the largest magnitude / 127, or NaN if an element is infinite or NaN. All threads of the
/// warp that has the head return the same scale.
__device__ inline float scale_of_head(const float* head, int head_dim) {
  float largest = 0, poison = 0;  // 0 times infinity, or times NaN, is NaN
  for (int d = lane_of_warp(); d < head_dim; d += kWarp) {
    largest = fmaxf(largest, fabsf(head[d]));
    poison += head[d] * 0.0F;
  }
  for (int other = kWarp / 2; other > 0; other /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, other));
    poison += __shfl_xor_sync(0xffffffffU, poison, other);
  }
  return largest / 127 + poison;
}

/// Writes a head of K or V to its slot of the cache. Scales of 8-bit caches: kernels/formats/kv_int8.h. Each thread reads
/// elements lane, lane + 32, ... alone.
template <class T>
__device__ void write_head(const KvHalf<T>& half, std::int64_t slot, int kv_head, const float* head) {
  const std::int64_t at = half.head_of(slot / half.block_size, static_cast<int>(slot % half.block_size), kv_head);
  const int lane = lane_of_warp();
  T* const to = half.numbers + at * half.head_dim;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    const float scale = scale_of_head(head, half.head_dim);
    if (lane == 0) half.scales[at] = scale;
    for (int d = lane; d < half.head_dim; d += kWarp) {
      const float steps = fminf(fmaxf(head[d] / scale, -127.0F), 127.0F);
      to[d] = scale > 0 ? static_cast<std::int8_t>(rintf(steps)) : std::int8_t{0};
    }
  } else {
    for (int d = lane; d < half.head_dim; d += kWarp) store_number(to[d], head[d]);
  }
}

}  // namespace lathe::kernels::cuda
