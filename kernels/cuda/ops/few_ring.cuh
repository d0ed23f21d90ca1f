// SPDX-License-Identifier: Apache-2.0
// A ring of stages in shared memory, into which a warp copies the bf16 weights of its next chunks while it multiplies: more
// bytes on their way than registers would hold. A stage has the kQuad of all tiles of a group.
#pragma once

#include "kernels/cuda/layout/chunk_turns.h"
#include "kernels/cuda/ops/barriers.cuh"
#include "kernels/cuda/ops/few_shape.cuh"

namespace lathe::kernels::cuda {

/// The ring of one warp. kMatrices: matrices that have the tiles of a group, each kTiles / kMatrices.
template <class F, class C, int kMatrices>
class WeightRing {
  using S = FewSizes<F, C>;
  static constexpr int kStageSteps = kQuad / kStep, kChunkStages = S::kChunkSteps / kStageSteps;
  static constexpr int kMatrixTiles = C::kTiles / kMatrices, kTileBytes = kStageSteps * F::kStepBytes;

 public:
  /// `stages`, `full`: memory and barriers of this warp's stages. Requires: `first` is the first chunk of the warp.
  __device__ WeightRing(unsigned char* stages, unsigned full, ChunkOfGroup first)
      : stages_(stages), full_(full), fill_(first), lane_(threadIdx.x % kWarp), policy_(read_once_policy()) {}

  /// Makes the barriers and begins to copy.
  __device__ void begin(const FewProduct& in, const ChunkTurns& turns) {
    if (lane_ == 0) {
#pragma unroll
      for (int i = 0; i < C::kStages; ++i) init_barrier(full_ + 8 * i, 1);
      order_barriers();
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < C::kStages; ++i) fill(i, in, turns);
  }

  /// Reads the next stage; weights after `n_steps` become zeros.
  __device__ void take(uint4 (&weights)[C::kTiles][kStageSteps], int n_steps, const FewProduct& in,
                       const ChunkTurns& turns) {
    wait(full_ + 8 * slot_, parity_);
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t) {
      const auto* const from = reinterpret_cast<const uint4*>(stages_ + slot_ * S::kStageBytes + t * kTileBytes) + lane_;
#pragma unroll
      for (int i = 0; i < kStageSteps; ++i) weights[t][i] = n_steps > 0 ? from[i * kWarp] : make_uint4(0, 0, 0, 0);
    }
    __syncwarp();
    fill(slot_, in, turns);
    if (++slot_ == C::kStages) slot_ = 0, parity_ ^= 1;
  }

 private:
  unsigned char* stages_;
  unsigned full_;
  ChunkOfGroup fill_;   ///< chunk that is copied next
  int fill_stage_ = 0;  ///< and its stage
  int lane_;
  std::uint64_t policy_;
  int slot_ = 0;  ///< slot that is read next
  unsigned parity_ = 0;

  /// Copies the next stage to a slot.
  __device__ void fill(int slot, const FewProduct& in, const ChunkTurns& turns) {
    if (!turns.is_there(fill_)) return;
    if (lane_ == 0) copy(slot, fill_.chunk * S::kChunkSteps + fill_stage_ * kStageSteps, in);
    if (++fill_stage_ < kChunkStages) return;
    fill_stage_ = 0;
    fill_ = turns.next_of_warp(fill_);
  }

  __device__ void copy(int slot, int first, const FewProduct& in) const {
    const unsigned barrier = full_ + 8 * slot;
    if (first >= in.n_steps) return arrive(barrier);  // the last chunk ends before this stage
    arrive_expecting(barrier, S::kStageBytes);
    unsigned to = shared_address(stages_ + slot * S::kStageBytes);
#pragma unroll
    for (int t = 0; t < C::kTiles; ++t, to += kTileBytes) {
      const std::int64_t tile = min(fill_.group * kMatrixTiles + t % kMatrixTiles, in.n_tiles - 1);
      copy_bulk(to, in.weights[t / kMatrixTiles] + (tile * in.n_steps + first) * F::kStepBytes, kTileBytes, barrier,
                policy_);
    }
  }
};

}  // namespace lathe::kernels::cuda
