// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch: a kernel may begin before the kernel before it in the stream has ended, so that its blocks
// are resident, and weights on their way, when the last input is written.
// Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// Lets the next kernel of the stream begin. It does not hurry the writes of this one: wait_for_previous() waits for them.
__device__ inline void let_next_begin() { asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory"); }

/// Waits until all earlier kernels of the stream have ended and their writes can be read.
/// Invariant: each thread of a kernel launched by launch_dependent() calls this before it reads what an earlier kernel may
/// have written, and before its first write to global memory. Weights, which no kernel of a step writes, may be read
/// earlier.
__device__ inline void wait_for_previous() { asm volatile("griddepcontrol.wait;\n" ::: "memory"); }

/// Launches a kernel whose grid consists of clusters of `cluster` blocks, and which may begin while the kernel before it
/// ends. Requires: the kernel calls wait_for_previous().
template <class... Params, class... Args>
void launch_dependent_clusters(void (*kernel)(Params...), dim3 grid, dim3 block, unsigned cluster, std::size_t shared_bytes,
                               Stream stream, Args&&... args) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = cluster > 1 ? 2 : 1;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...), "launch");
}

/// Launches a kernel that may begin while the one before it ends. Requires: the kernel calls wait_for_previous().
template <class... Params, class... Args>
void launch_dependent(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
                      Args&&... args) {
  launch_dependent_clusters(kernel, grid, block, 1, shared_bytes, stream, std::forward<Args>(args)...);
}

}  // namespace lathe::kernels::cuda
