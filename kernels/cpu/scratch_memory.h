// SPDX-License-Identifier: Apache-2.0
// ScratchMemory: the memory of ThreadScratch, shared by the operations of a backend, one of which runs at a time.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/stages/thread_scratch.h"

namespace lathe::kernels {

/// Owns: its memory, which only grows. Units: floats_each is per thread.
class ScratchMemory {
 public:
  explicit ScratchMemory(int n_threads) : n_threads_(n_threads) {}

  /// Bytes that reserve() takes.
  std::size_t work_bytes(std::int64_t floats_each) const { return reserved_bytes(bytes(floats_each)); }
  /// Errors: false when the machine has no memory left.
  bool reserve(std::int64_t floats_each) { return reserve_host(memory_, bytes(floats_each)); }
  std::size_t bytes_held() const { return memory_.n_bytes(); }
  /// Valid until the next call.
  ThreadScratch scratch(std::int64_t floats_each) {
    LATHE_CHECK(reserve(floats_each));
    return {static_cast<float*>(memory_.data()), floats_each};
  }

 private:
  std::size_t bytes(std::int64_t floats_each) const {
    return static_cast<std::size_t>(floats_each * n_threads_) * sizeof(float);
  }

  int n_threads_;
  Buffer memory_;
};

}  // namespace lathe::kernels
