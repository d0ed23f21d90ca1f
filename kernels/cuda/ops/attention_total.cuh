// SPDX-License-Identifier: Apache-2.0
// Sum of the parts of a context that one warp computes one after the other, in registers or in shared memory.
#pragma once

#include "kernels/cuda/ops/attention_part.cuh"

namespace lathe::kernels::cuda {

/// `kThreads`: threads of the block; in shared memory each has its own words, in banks of their own.
template <int kDim, int kThreads, bool kIsShared>
class TotalSums {
 public:
  static constexpr std::size_t kBytes = kIsShared ? std::size_t{kThreads} * kDim / 2 * sizeof(float) : 0;

  /// `memory`: kBytes in shared memory.
  __device__ explicit TotalSums(void* memory) : shared_(static_cast<float4*>(memory) + (kIsShared ? threadIdx.x : 0)) {
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d) {
      if constexpr (kIsShared) {
        shared_[d * kThreads] = {0, 0, 0, 0};
      } else {
        own_[d] = {0, 0, 0, 0};
      }
    }
  }

  /// Merges a part, which becomes empty.
  __device__ void add(PartSums<kDim>& part, float unit) {
    const float2 upper = merge(states_[0], part.state(0, unit)), lower = merge(states_[1], part.state(1, unit));
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d) {
      float4 value = at(d);
      value = {merged(value.x, part.values[d][0], upper), merged(value.y, part.values[d][1], upper),
               merged(value.z, part.values[d][2], lower), merged(value.w, part.values[d][3], lower)};
      if constexpr (kIsShared) {
        shared_[d * kThreads] = value;
      } else {
        own_[d] = value;
      }
    }
    part.clear();
  }

  __device__ void finish(const Rows& out, const PreparedX& prepared, const Query (&queries)[2],
                         const AttentionRows& rows) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (queries[r].last < 0) continue;
      const float factor = last_factor(states_[r], rows, queries[r].head);
#pragma unroll
      for (int d = 0; d < kDim / 8; ++d) {
        const float4 value = at(d);
        store_pair(out, prepared, queries[r], kDim, d * 8 + static_cast<int>(threadIdx.x) % 4 * 2,
                   __fmul_rn(r == 0 ? value.x : value.z, factor), __fmul_rn(r == 0 ? value.y : value.w, factor));
      }
    }
  }

 private:
  __device__ float4 at(int d) const {
    if constexpr (kIsShared) return shared_[d * kThreads];
    return own_[d];
  }

  float4* shared_;
  float4 own_[kIsShared ? 1 : kDim / 8];
  SoftmaxState states_[2];
};

}  // namespace lathe::kernels::cuda
