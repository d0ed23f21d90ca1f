// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (four warps) by wgmma: 64 outputs, whose weights are in registers, and kRows rows of x in shared
// memory. They run asynchronously: their registers may be touched again after wait_products().
// Source: PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate instructions". A warp holds weights and sums of
// its 16 outputs as in mma.m16n8k16.
#pragma once

#include <cstdint>

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Orders accesses to registers before the products that follow.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
/// Makes the products since the last commit one group.
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
/// Waits until at most kPending groups are running.
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}

/// Keeps the compiler from moving accesses to the sums across this place.
template <int kCount>
__device__ __forceinline__ void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

/// Descriptor of rows of x in shared memory in the layout of x_block_place(), whose tiles of 8 rows are adjacent. The 16 k
/// of step i begin 32 * i bytes later: add 2 * i to the descriptor. Requires: `address` is a multiple of 1024.
__device__ __forceinline__ std::uint64_t descriptor_of(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = 1, kUnused = 1;
  return kSwizzle128 << 62 | static_cast<std::uint64_t>(kBlockBytes >> 4) << 32 | kUnused << 16 | (address & 0x3ffffU) >> 4;
}

#define LATHE_EIGHT(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

/// d = a b, or d += a b if `adds`, for 64 outputs, kRows rows and 16 k; d[4 * t + i] are sums of row tile t.
template <int kRows>
__device__ __forceinline__ void multiply_async(float (&d)[kRows / 2], const std::uint32_t (&a)[4], std::uint64_t b,
                                               int adds);

template <>
__device__ __forceinline__ void multiply_async<128>(float (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b, int adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"
      "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
      "{%64,%65,%66,%67}, %68, p, 1, 1, 0;\n}\n"
      : LATHE_EIGHT(0), LATHE_EIGHT(8), LATHE_EIGHT(16), LATHE_EIGHT(24), LATHE_EIGHT(32), LATHE_EIGHT(40), LATHE_EIGHT(48),
        LATHE_EIGHT(56)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

#undef LATHE_EIGHT

#endif

}  // namespace lathe::kernels::cuda
