// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (mbarrier) and the copies that complete on them. Addresses are those of shared memory.
// Source: PTX ISA, "Asynchronous Data Movement and Conversion Instructions".
#pragma once

#include <cstdint>

namespace lathe::kernels::cuda {

__device__ inline unsigned shared_address(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

/// `n_arrivals` complete a phase. Requires: order_barriers() before another thread uses the barrier.
__device__ inline void init_barrier(unsigned barrier, unsigned n_arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(n_arrivals) : "memory");
}
/// Makes this thread's init_barrier() visible to the cluster and to asynchronous copies.
__device__ inline void order_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}
/// Arrives at the barrier that block `rank` of the cluster has at the same address.
__device__ inline void arrive_at(unsigned barrier, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// Arrives; the phase also waits for `n_bytes` of copies.
__device__ inline void arrive_expecting(unsigned barrier, unsigned n_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(n_bytes) : "memory");
}

/// True once the phase of that parity has completed; may suspend the thread for a while. kClusterSize > 1: sees what other
/// blocks of the cluster wrote before they arrived.
template <int kClusterSize>
__device__ inline bool has_completed(unsigned barrier, unsigned parity) {
  unsigned is_complete = 0;
  if constexpr (kClusterSize > 1) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(is_complete)
        : "r"(barrier), "r"(parity)
        : "memory");
  } else {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
                 : "=r"(is_complete)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
  return is_complete != 0;
}
template <int kClusterSize = 1>
__device__ inline void wait(unsigned barrier, unsigned parity) {
  while (!has_completed<kClusterSize>(barrier, parity)) {
  }
}

/// Waits for all threads of the cluster, and makes their writes to shared memory visible to it.
__device__ inline void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
/// Writes to the shared memory of block `rank` of the cluster, at the address `to` of this block.
__device__ inline void store_at(unsigned to, unsigned rank, float4 four) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n}\n" ::"r"(to),
      "r"(rank), "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w)
      : "memory");
}

/// The policy of data that is read once.
__device__ inline std::uint64_t read_once_policy() {
  std::uint64_t policy = 0;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
  return policy;
}
/// Copies from global to shared memory; `barrier` counts the bytes as they arrive. Requires: addresses and n_bytes are
/// multiples of 16.
__device__ inline void copy_bulk(unsigned to, const void* from, unsigned n_bytes, unsigned barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;\n" ::"r"(
          to),
      "l"(from), "r"(n_bytes), "r"(barrier), "l"(policy)
      : "memory");
}

}  // namespace lathe::kernels::cuda
