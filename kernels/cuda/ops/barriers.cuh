// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (mbarrier), and loads of what is read once. Addresses of barriers are those of shared memory.
// Source: PTX ISA, "Asynchronous Data Movement and Conversion Instructions".
#pragma once

#include <cstdint>

namespace lathe::kernels::cuda {

__device__ inline unsigned shared_address(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

/// `n_arrivals` complete a phase. Requires: __syncthreads() before another thread uses the barrier.
__device__ inline void init_barrier(unsigned barrier, unsigned n_arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(n_arrivals) : "memory");
}
__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}
/// True once the phase of that parity has completed; may suspend the thread for a while.
__device__ inline bool has_completed(unsigned barrier, unsigned parity) {
  unsigned is_complete = 0;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
               : "=r"(is_complete)
               : "r"(barrier), "r"(parity)
               : "memory");
  return is_complete != 0;
}
__device__ inline void wait(unsigned barrier, unsigned parity) {
  while (!has_completed(barrier, parity)) {
  }
}

/// The policy of data that is read once.
__device__ inline std::uint64_t read_once_policy() {
  std::uint64_t policy = 0;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
  return policy;
}
/// Loads 16 bytes that no kernel of a step writes, if `at` < `end`; else `to` stays as it is.
__device__ inline void load_once(uint4& to, const void* from, int at, int end, std::uint64_t policy) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.lt.s32 p, %5, %6;\n"
      "@p ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %7;\n}\n"
      : "+r"(to.x), "+r"(to.y), "+r"(to.z), "+r"(to.w)
      : "l"(from), "r"(at), "r"(end), "l"(policy));
}

}  // namespace lathe::kernels::cuda
