// SPDX-License-Identifier: Apache-2.0
// Weight fragments of mma.m16n8k16, as the threads of a warp hold them: loading, conversion of codes to bf16, the product.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

/// Kernel argument for a matrix in tiles.
struct TiledWeights {
  const uint4* weights;
  const void* scales;
  int n_steps;
  int n_groups;
  int group_shift;  ///< log2 of the k of a group; 31: one group for the whole row
  float off;        ///< StoredMatrix::off
  float book[16];   ///< StoredMatrix::book
};

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

template <ScaleKind kKind>
__device__ inline float weight_of(float number, float scale, float offset) {
  if constexpr (kKind == ScaleKind::zero) return (number - offset) * scale;
  if constexpr (kKind == ScaleKind::minimum) return fmaf(number, scale, offset);
  return number * scale;
}

// The float 2^23, whose last bit has the value 1: with a code in its lowest bits it is the float 2^23 + code.
inline constexpr std::uint32_t kWholeBits = 0x4b000000U;
inline constexpr float kWhole = 8388608.0F;

/// Values of codes 2 i and 2 i + 1 of four 8-bit codes.
template <Storage kStorage>
__device__ inline float2 numbers_of(std::uint32_t four, int i, float off) {
  if constexpr (kStorage == Storage::e4m3) {
    const auto two = static_cast<__nv_fp8x2_storage_t>(i == 0 ? four & 0xffffU : four >> 16);
    const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(two, __NV_E4M3);
    return __half22float2(*reinterpret_cast<const __half2*>(&halves));
  } else {
    const std::uint32_t low = __byte_perm(four, kWholeBits, 0x7540U + 2 * i);
    const std::uint32_t high = __byte_perm(four, kWholeBits, 0x7541U + 2 * i);
    return {__uint_as_float(low) - (kWhole + off), __uint_as_float(high) - (kWhole + off)};
  }
}

/// Weights of four steps (64 k) of a tile of 16 outputs, as far as one thread holds them.
template <Storage kStorage, ScaleKind kKind, bool kHasBook>
struct Quad {
  static constexpr int kLoads = kStorage == Storage::bf16 ? 4 : kStorage == Storage::code4 ? 1 : 2;
  uint4 data[kLoads];
  StoredScales<kKind> scales[4];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) data[i] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4; ++i) scales[i] = {};
  }

  __device__ void load(const TiledWeights& w, std::int64_t tile, int quad, int lane) {
    const uint4* const from = w.weights + (tile * (w.n_steps / 4) + quad) * (kLoads * kWarp) + lane;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) data[i] = __ldcs(from + i * kWarp);
    if constexpr (kStorage != Storage::bf16) load_scales(w, tile, quad, lane);
  }

  /// Computes the fragment of step i in bf16. `book`: the 16 values of the codebook, in shared memory.
  __device__ void fragment(int i, const TiledWeights& w, const float* book, std::uint32_t (&a)[4]) const {
    if constexpr (kStorage == Storage::bf16) {
      a[0] = data[i].x, a[1] = data[i].y, a[2] = data[i].z, a[3] = data[i].w;
    } else if constexpr (kStorage == Storage::code4) {
      const std::uint32_t eight = i == 0 ? data[0].x : i == 1 ? data[0].y : i == 2 ? data[0].z : data[0].w;
      nibbles(eight, w, book, scales[i].widened(), a);
    } else {
      const uint4& two = data[i / 2];
      bytes(i % 2 == 0 ? two.x : two.z, i % 2 == 0 ? two.y : two.w, w, scales[i].widened(), a);
    }
  }

 private:
  /// Loads the scales of the four steps. A group covers one step, two, four, or more.
  __device__ void load_scales(const TiledWeights& w, std::int64_t tile, int quad, int lane) {
    const auto* const from = static_cast<const StoredScales<kKind>*>(w.scales) + tile * w.n_groups * 8 + lane / 4;
    const int first = quad * kQuad >> w.group_shift;
    scales[0] = from[first * 8];
    if (w.group_shift >= 6) {
      scales[1] = scales[2] = scales[3] = scales[0];
    } else if (w.group_shift == 5) {
      scales[1] = scales[0];
      scales[2] = scales[3] = from[(first + 1) * 8];
    } else {
#pragma unroll
      for (int i = 1; i < 4; ++i) scales[i] = from[(first + i) * 8];
    }
  }

  __device__ static void bytes(std::uint32_t first, std::uint32_t second, const TiledWeights& w, const Scales& s,
                               std::uint32_t (&a)[4]) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      a[j] = weights_of(numbers_of<kStorage>(j < 2 ? first : second, j % 2, w.off), s, j % 2);
    }
  }

  __device__ static void nibbles(std::uint32_t eight, const TiledWeights& w, const float* book, const Scales& s,
                                 std::uint32_t (&a)[4]) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t two = eight >> (4 * j) & 0x000f000fU;
      float2 numbers;
      if constexpr (kHasBook) {
        numbers = {book[two & 0xfU], book[two >> 16]};
      } else {
        numbers = {__uint_as_float(kWholeBits | (two & 0xfU)) - (kWhole + w.off),
                   __uint_as_float(kWholeBits | two >> 16) - (kWhole + w.off)};
      }
      a[j] = weights_of(numbers, s, j % 2);
    }
  }

  __device__ static std::uint32_t weights_of(float2 numbers, const Scales& s, int upper) {
    const float scale = upper != 0 ? s.scale.y : s.scale.x, offset = upper != 0 ? s.offset.y : s.offset.x;
    return packed(weight_of<kKind>(numbers.x, scale, offset), weight_of<kKind>(numbers.y, scale, offset));
  }
};

}  // namespace lathe::kernels::cuda
