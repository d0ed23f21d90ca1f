// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory, at which threads arrive without waiting. Source: PTX ISA, "mbarrier".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lathe::kernels::cuda {

__device__ inline void begin_barrier(std::uint32_t barrier, int n_arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(n_arrivals) : "memory");
}
__device__ inline void arrive(std::uint32_t barrier) {
  asm volatile("{.reg .b64 state;\n mbarrier.arrive.shared::cta.b64 state, [%0];}\n" ::"r"(barrier) : "memory");
}
/// Waits until the phase with this parity (0, 1, 0 ...) has ended.
__device__ inline void wait_for_phase(std::uint32_t barrier, int parity) {
#ifdef LATHE_WATCH_SPINS
  const long long begun = clock64();
#endif
  int is_over = 0;
  while (is_over == 0) {
    asm volatile("{.reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.b32 %0, 1, 0, p;}\n"
                 : "=r"(is_over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
#ifdef LATHE_WATCH_SPINS
    if (clock64() - begun > 2000000000LL) __trap();
#endif
  }
}
/// Arrives when the earlier asynchronous copies of this thread have ended.
__device__ inline void arrive_after_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];\n" ::"r"(barrier) : "memory");
}
/// Makes barriers that this thread began visible to asynchronous copies.
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory"); }

}  // namespace lathe::kernels::cuda
