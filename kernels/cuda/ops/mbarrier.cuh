// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory that count arrivals and bytes, the bulk copies that arrive there, and clusters of blocks.
// Addresses of shared memory are those of the shared window, shared_address().
// Source: PTX ISA, "mbarrier", "cp.async.bulk" and "barrier.cluster".
#pragma once

#include "kernels/cuda/ops/shared_address.cuh"

namespace lathe::kernels::cuda {

/// A phase of the barrier ends after n_arrivals arrivals and all bytes that it expects.
__device__ __forceinline__ void init_barrier(std::uint32_t barrier, std::uint32_t n_arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(n_arrivals) : "memory");
}
/// Makes initialised barriers visible to copies and to the other blocks of the cluster.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;\n" ::: "memory");
}

/// Arrives and adds n_bytes to the bytes that the phase expects.
__device__ __forceinline__ void arrive_expecting(std::uint32_t barrier, std::uint32_t n_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(n_bytes) : "memory");
}
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}
/// Arrives at a barrier of another block of the cluster; its address is that of in_block(). Orders reads of shared memory
/// that have returned, but no writes: .release.cluster would wait for all memory of the device.
__device__ __forceinline__ void arrive_in_cluster(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ bool has_ended(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t ended;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
               : "=r"(ended)
               : "r"(barrier), "r"(parity)
               : "memory");
  return ended != 0;
}
/// Waits for the end of the phase with this parity. The phase before the first one counts as ended, with parity 1.
__device__ __forceinline__ void wait_phase(std::uint32_t barrier, std::uint32_t parity) {
#ifdef LATHE_MOST_WAIT_CYCLES
  asm volatile(
      "{\n.reg .pred p, q;\n.reg .u32 begin, now;\nmov.u32 begin, %%clock;\n"
      "AGAIN_%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra.uni ENDED_%=;\n"
      "mov.u32 now, %%clock;\nsub.u32 now, now, begin;\nsetp.gt.u32 q, now, %2;\n@q trap;\nbra.uni AGAIN_%=;\n"
      "ENDED_%=:\n}\n" ::"r"(barrier),
      "r"(parity), "n"(LATHE_MOST_WAIT_CYCLES)
      : "memory");
#else
  while (!has_ended(barrier, parity)) {
  }
#endif
}

/// Copies n_bytes from global to shared memory of this block, and then adds them to the barrier. Requires: addresses and
/// n_bytes are multiples of 16.
__device__ __forceinline__ void copy_bulk(std::uint32_t to, const void* from, std::uint32_t n_bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(to),
               "l"(from), "r"(n_bytes), "r"(barrier)
               : "memory");
}
/// The same to the same addresses of each block of the cluster whose bit in `blocks` is set, and to its barrier.
__device__ __forceinline__ void copy_bulk(std::uint32_t to, const void* from, std::uint32_t n_bytes, std::uint32_t barrier,
                                          std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;\n" ::
          "r"(to),
      "l"(from), "r"(n_bytes), "r"(barrier), "h"(blocks)
      : "memory");
}

__device__ __forceinline__ std::uint32_t rank_in_cluster() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}
/// The address, in the cluster's window, of this block's shared `address` in the block of that rank.
__device__ __forceinline__ std::uint32_t in_block(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
/// All threads of all blocks of the cluster wait for each other.
__device__ __forceinline__ void sync_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}

}  // namespace lathe::kernels::cuda
