// SPDX-License-Identifier: Apache-2.0
// K or V of a layer of the fake device's KV cache. Layout: kernels/cuda/ops/ops.h.
#pragma once

#include <cstdint>

#include "kernels/api/backend.h"

namespace lathe::tests {

class KvNumbers {
 public:
  /// Errors: throws DeviceFault if the layer is not in one allocation.
  KvNumbers(const kernels::KvLayer& layer, bool is_v);

  /// Index of the head of a token. Errors: throws DeviceFault if the block is not in the cache.
  std::int64_t head_of(std::int64_t block, std::int64_t offset, int kv_head) const;
  void load(float* to, std::int64_t head) const;
  void store(std::int64_t head, const float* from) const;

 private:
  void store_int8(std::int64_t head, const float* from) const;

  kernels::KvShape shape_;
  std::byte* numbers_;
  float* scales_;
};

}  // namespace lathe::tests
