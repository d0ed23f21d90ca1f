// SPDX-License-Identifier: Apache-2.0
// The product mma.m16n8k16 of the threads of a warp, and the scales of its outputs as they are stored.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

/// c += a b for 16 outputs, 8 rows and 16 k; products are exact, sums in f32.
__device__ inline void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], uint2 b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
}

__device__ inline std::uint32_t packed(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

/// Scales, and zero points or minimums, of the two matrix rows r and r + 8 of a thread.
struct Scales {
  float2 scale, offset;
};

/// Scales of rows r and r + 8 as they are stored.
template <ScaleKind kKind>
struct StoredScales;
template <>
struct StoredScales<ScaleKind::none> {
  __device__ Scales widened() const { return {}; }
};
template <>
struct StoredScales<ScaleKind::half> {
  __half2 scale;
  __device__ Scales widened() const { return {__half22float2(scale), {0, 0}}; }
};
template <>
struct StoredScales<ScaleKind::single> {
  float2 scale;
  __device__ Scales widened() const { return {scale, {0, 0}}; }
};
template <>
struct StoredScales<ScaleKind::zero> {
  uint2 both;
  __device__ Scales widened() const {
    const float2 first = __half22float2(*reinterpret_cast<const __half2*>(&both.x));
    const float2 second = __half22float2(*reinterpret_cast<const __half2*>(&both.y));
    return {{first.x, second.x}, {first.y, second.y}};
  }
};
template <>
struct StoredScales<ScaleKind::minimum> {
  float4 both;
  __device__ Scales widened() const { return {{both.x, both.z}, {both.y, both.w}}; }
};

}  // namespace lathe::kernels::cuda
