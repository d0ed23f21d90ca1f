// SPDX-License-Identifier: Apache-2.0
// Products of a group of four warps on Hopper: 64 queries at a time, the right factor in shared memory in rows of 128 bytes
// whose 16-byte vectors are exchanged by the index of the row (the 128-byte swizzle). Other devices have no such
// instructions. Source: PTX ISA, "Asynchronous warpgroup level matrix instructions".
#pragma once

#include <type_traits>

#include "kernels/cuda/ops/attention_part.cuh"
#include "kernels/cuda/ops/mbarrier.cuh"
#include "kernels/cuda/ops/wgmma.cuh"

namespace lathe::kernels::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

inline constexpr int kSwizzledRow = 128;  ///< bytes of a row, 64 elements of 16 bits

/// Place of vector `piece` (16 bytes) of a row, in blocks of 64 rows by 64 elements, block after block along the row.
__device__ inline std::uint32_t swizzled(int row, int piece) {
  return piece / 8 * (64 * kSwizzledRow) + row * kSwizzledRow + (piece % 8 ^ row % 8) * 16;
}

/// Descriptor of a matrix in shared memory. `leading`: bytes between blocks of 64 elements, where the product goes along
/// rows; 8 rows are 1024 bytes apart. Requires: the matrix begins at a multiple of 1024 bytes.
__device__ inline std::uint64_t matrix_descriptor(std::uint32_t address, int leading) {
  return (address & 0x3ffffU) >> 4 | static_cast<std::uint64_t>(leading >> 4) << 16 | std::uint64_t{1024 >> 4} << 32 |
         std::uint64_t{1} << 62;
}

/// Makes earlier writes of this thread to shared memory visible to products.
__device__ inline void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

/// Keeps the compiler from moving accesses to the sums of a product across this place.
template <int kN>
__device__ inline void hold(float (&sums)[kN][4]) {
#pragma unroll
  for (int n = 0; n < kN; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(sums[n][i])::"memory");
}

/// Changes the registers that each thread of a group of warps may use.
template <int kN>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kN));
}
template <int kN>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kN));
}

#define LATHE_ROW(i) "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
#define LATHE_SUMS(i)                                                                                                       \
  LATHE_ROW(i), LATHE_ROW(i + 1), LATHE_ROW(i + 2), LATHE_ROW(i + 3), LATHE_ROW(i + 4), LATHE_ROW(i + 5), LATHE_ROW(i + 6), \
      LATHE_ROW(i + 7)

/// sums = a b^T, or sums += a b^T if `adds`, for 64 rows of a, 64 rows of b and 16 k.
template <class T>
__device__ inline void multiply_scores(float (&sums)[8][4], std::uint64_t a, std::uint64_t b, int adds) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "{.reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, "
        "0;}\n"
        : LATHE_SUMS(0)
        : "l"(a), "l"(b), "r"(adds));
  } else {
    asm volatile(
        "{.reg .pred p;\n setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, "
        "0;}\n"
        : LATHE_SUMS(0)
        : "l"(a), "l"(b), "r"(adds));
  }
}

/// sums += a b for 64 queries, 16 tokens and kDim columns; a in registers.
template <class T>
__device__ inline void multiply_weights(float (&sums)[8][4], const std::uint32_t (&a)[4], std::uint64_t b) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, "
        "%36, 1, 1, 1, 1;\n"
        : LATHE_SUMS(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  } else {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, "
        "%36, 1, 1, 1, 1;\n"
        : LATHE_SUMS(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
}
template <class T>
__device__ inline void multiply_weights(float (&sums)[16][4], const std::uint32_t (&a)[4], std::uint64_t b) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, "
        "%37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, "
        "%60, %61, %62, %63}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
        : LATHE_SUMS(0), LATHE_SUMS(8)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  } else {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
        "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, "
        "%37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, "
        "%60, %61, %62, %63}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
        : LATHE_SUMS(0), LATHE_SUMS(8)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
}
#undef LATHE_SUMS
#undef LATHE_ROW

#endif

}  // namespace lathe::kernels::cuda
