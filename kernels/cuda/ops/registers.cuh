// SPDX-License-Identifier: Apache-2.0
// Registers of threads: their number, and what they read from shared memory, whose addresses are those of shared_address().
#pragma once

#include <cstdint>
#include <cstring>

namespace lathe::kernels::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Gives registers of the warpgroup's threads back until they have kCount.
template <int kCount>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kCount));
}
/// Waits for registers that other warpgroups give back until threads have kCount.
template <int kCount>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kCount));
}

template <class T>
__device__ __forceinline__ T read_shared(std::uint32_t from) {
  std::uint32_t words[sizeof(T) / 4];
  if constexpr (sizeof(T) == 4) asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(words[0]) : "r"(from));
  if constexpr (sizeof(T) == 8)
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];\n" : "=r"(words[0]), "=r"(words[1]) : "r"(from));
  if constexpr (sizeof(T) == 16)
    asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(from));
  T value;
  memcpy(&value, words, sizeof(T));
  return value;
}

#endif

}  // namespace lathe::kernels::cuda
