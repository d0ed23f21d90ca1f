// SPDX-License-Identifier: Apache-2.0
// Kernel view of a layer's KV cache, and conversion of its elements.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>

#include "kernels/api/backend.h"
#include "kernels/cuda/ops/check.cuh"

namespace lathe::kernels::cuda {

struct E4m3 {
  __nv_fp8_storage_t bits;
};
struct E5m2 {
  __nv_fp8_storage_t bits;
};

__device__ inline float number_of(float x) { return x; }
__device__ inline float number_of(__half x) { return __half2float(x); }
__device__ inline float number_of(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float number_of(std::int8_t x) { return static_cast<float>(x); }
__device__ inline float number_of(E4m3 x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3))); }
__device__ inline float number_of(E5m2 x) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E5M2))); }

__device__ inline void store_number(float& to, float x) { to = x; }
__device__ inline void store_number(__half& to, float x) { to = __float2half_rn(x); }
__device__ inline void store_number(__nv_bfloat16& to, float x) { to = __float2bfloat16_rn(x); }
__device__ inline void store_number(E4m3& to, float x) { to.bits = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); }
__device__ inline void store_number(E5m2& to, float x) { to.bits = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2); }

/// K or V of a layer: elements [block][kv_head][token][head_dim], and for i8 a scale for each head of each token.
template <class T>
struct KvHalf {
  T* numbers;
  float* scales;
  int n_kv_heads, block_size, head_dim;

  __device__ std::int64_t head_of(std::int64_t block, int offset, int kv_head) const {
    return (block * n_kv_heads + kv_head) * block_size + offset;
  }
};

constexpr std::int64_t kv_elements(const KvShape& shape) {
  return static_cast<std::int64_t>(shape.n_blocks) * shape.n_kv_heads * shape.block_size * shape.head_dim;
}

template <class T>
KvHalf<T> kv_half(const KvLayer& layer, bool is_v) {
  const KvShape& shape = layer.shape;
  const std::int64_t n = kv_elements(shape);
  auto* const numbers = static_cast<T*>(layer.data);
  auto* const scales = reinterpret_cast<float*>(numbers + 2 * n);
  return {numbers + (is_v ? n : 0), scales + (is_v ? n / shape.head_dim : 0), shape.n_kv_heads, shape.block_size,
          shape.head_dim};
}

/// Calls body with a zero of the cache's element type.
template <class Body>
void for_kv_type(Dtype dtype, const Body& body) {
  switch (dtype) {
    case Dtype::f32: return body(float());
    case Dtype::f16: return body(__half());
    case Dtype::bf16: return body(__nv_bfloat16());
    case Dtype::i8: return body(std::int8_t());
    case Dtype::f8_e4m3: return body(E4m3());
    case Dtype::f8_e5m2: return body(E5m2());
    default: LATHE_CHECK(is_floating(dtype));
  }
}

}  // namespace lathe::kernels::cuda
