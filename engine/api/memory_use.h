// SPDX-License-Identifier: Apache-2.0
// MemoryUse: memory of a loaded model by parts, as the sizes of its buffers or as measured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace lathe::engine {

/// Memory of a model by parts. Units: bytes.
struct MemoryUse {
  std::int64_t weights = 0, kv = 0, activations = 0, other = 0;
  std::int64_t total() const { return weights + kv + activations + other; }
};

/// Memory that a load took, measured as resident anonymous pages of this process (heap, stacks and buffers), as the
/// operating system counts them. File pages are not counted, though a checkpoint is mapped while it is read: the system may
/// drop them at any time, and every process that maps the file shares them. Shared memory (images for the display server)
/// and swapped pages are not counted either. Units: bytes.
struct MeasuredMemory {
  std::int64_t before = 0;  ///< memory of the whole process when the load began
  std::int64_t after = 0;   ///< memory of the whole process after the first step, when the engine accepts requests
  /// Resident pages of the buffers. A page is resident from its first use on, so an empty KV cache takes less than its
  /// reserved size. `other`: the rest of after - before: tokenizer, RoPE angles, work memory of the kernels, tables of the
  /// scheduler, threads, and all else that the process allocated meanwhile; at least 0.
  MemoryUse use;
};

/// Computes `other` from the rest; parts.other is ignored.
inline MeasuredMemory measured_memory(std::int64_t before, std::int64_t after, MemoryUse parts) {
  parts.other = 0;
  parts.other = std::max<std::int64_t>(after - before - parts.total(), 0);
  return {before, after, parts};
}

/// How the memory of a device was divided when its KV cache was sized by gpu_memory_utilization. Units: bytes.
struct DeviceDivision {
  double utilization = 0;   ///< gpu_memory_utilization
  std::int64_t total = 0;   ///< memory of the device
  std::int64_t others = 0;  ///< taken before the load by the driver and other programs, or left for them
  std::int64_t model = 0;   ///< weights, activations, RoPE angles, work memory
  std::int64_t steps = 0;   ///< what the largest steps took in addition, measured
  std::int64_t kv = 0;      ///< the KV cache: the rest of utilization * total
};

/// "0.90 of 139.8 GiB of the device are 125.8: weights and work memory 15.1, the largest steps 0.4, KV cache 110.3; 0.9 are
/// the driver's and other programs'".
std::string text_of(const DeviceDivision& division);

/// Units: bytes of resident anonymous pages of this process now, counted less exactly than in MeasuredMemory but without
/// delay. nullopt: the system does not report them.
std::optional<std::int64_t> process_memory_bytes();

}  // namespace lathe::engine
