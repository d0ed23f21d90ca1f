// SPDX-License-Identifier: Apache-2.0
// MemoryUse: what a loaded model takes, by parts: as its buffers are large, and as it was measured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace lathe::engine {

/// Units: bytes.
struct MemoryUse {
  std::int64_t weights = 0, kv = 0, activations = 0, other = 0;
  std::int64_t total() const { return weights + kv + activations + other; }
};

/// What a load took of the machine: anonymous pages of this process (its heap, stacks and buffers) that lay in memory, as
/// the kernel counts them. Pages of files are not among them, though a checkpoint is mapped while it is read: the system may
/// drop those at any time, and every process that maps the file shares them. Neither is shared memory (pictures on their way
/// to the screen), nor what is swapped out. Units: bytes.
struct MeasuredMemory {
  std::int64_t before = 0;  ///< of the whole process, when the load began
  std::int64_t after = 0;   ///< behind the first step, when requests may come
  /// Pages of the buffers that lie in memory. A page does so from its first use on, so a KV cache that nothing has filled
  /// yet takes less than was reserved for it. `other`: the rest of after - before: tokenizer, angles of RoPE, work memory of
  /// the kernels, tables of the scheduler, threads, and whatever else the process did meanwhile; never less than nothing.
  MemoryUse use;
};

/// `parts`: their `other` is not looked at.
inline MeasuredMemory measured_memory(std::int64_t before, std::int64_t after, MemoryUse parts) {
  parts.other = 0;
  parts.other = std::max<std::int64_t>(after - before - parts.total(), 0);
  return {before, after, parts};
}

/// Units: bytes of this process that lie in memory now, as MeasuredMemory says but for some pages. It takes no time.
/// Nothing where the system does not say.
std::optional<std::int64_t> process_memory_bytes();

}  // namespace lathe::engine
