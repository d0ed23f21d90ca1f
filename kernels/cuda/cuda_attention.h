// SPDX-License-Identifier: Apache-2.0
// CudaAttention: the KV cache and attention over it: the division of rows among blocks of threads, and their host arrays.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/ops.h"
#include "kernels/cuda/staged_array.h"

namespace lathe::kernels::cuda {

/// A part of CudaBackend. Owns: memory on the device for partial sums of long contexts and for host arrays. Operations:
/// those of Backend with these names.
class CudaAttention {
 public:
  /// `n_processors`: multiprocessors of the device.
  CudaAttention(Stream stream, int n_processors) : stream_(stream), n_processors_(n_processors) {}

  static std::size_t kv_layer_bytes(const KvShape& shape);
  std::size_t work_bytes_held() const { return partials_.n_bytes(); }

  void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots);
  void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                 const AttentionForm& form);

 private:
  Stream stream_;
  int n_processors_;
  DeviceBuffer partials_;
  AttentionTiling plan_;
  // One array for each purpose, so that the layers of a step reuse the copies of the first one.
  StagedArray slots_, tiles_, block_tables_, slopes_, sinks_;
};

}  // namespace lathe::kernels::cuda
