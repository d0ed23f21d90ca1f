// SPDX-License-Identifier: Apache-2.0
// Products with a batch of rows by wgmma, at the speed of memory. A block of threads, or a cluster of blocks, takes one tile
// of outputs after the other. Chunks of k of its tiles go to its warpgroups in turn. A warpgroup has a ring of stages of its
// own, which a copying warp fills with weights and x; it sums each unit of its chunk by itself, waits for the totals of the
// warpgroup that has the chunk before, adds its sums in order, and hands the totals on. So sums have the bits of
// multiply_few().
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/cuda/layout/chunk_turns.h"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/exact_weights.cuh"
#include "kernels/cuda/ops/mbarrier.cuh"
#include "kernels/cuda/ops/ops.h"
#include "kernels/cuda/ops/registers.cuh"
#include "kernels/cuda/ops/wgmma.cuh"

namespace lathe::kernels::cuda {

/// Operands of a product, as its kernel takes them.
struct BatchProduct {
  const std::byte* weights;
  const std::byte* scales;
  const std::byte* x;
  const std::byte* unit_sums;  ///< sums of x over units, in the layout of unit_sum_place(); unused without an offset
  int n_row_tiles;             ///< of 8 rows
  int n_tiles;                 ///< of 16 outputs
  int n_steps;
  int n_scale_groups;
  int group_shift;  ///< log2 of the k of a group; 31: one group for the whole row
  int cluster;      ///< blocks of a cluster
  CodeConstants constants;
  float* out;
  std::int64_t stride;
  const float* bias;  ///< null: none
  int n_rows, n_outputs;
};

/// kGroups warpgroups that multiply, each with up to kRowTiles tiles of 8 rows and kHalves * 64 outputs. Another warpgroup's
/// warps copy, one for each of the others, and leave most of their registers to them.
template <int kRowTilesOf, int kGroupsOf, int kHalvesOf = 1>
struct BatchShape {
  static constexpr int kRowTiles = kRowTilesOf, kGroups = kGroupsOf, kHalves = kHalvesOf;
  static constexpr int kRows = kRowTiles * kRowTile, kTiles = 4 * kHalves;
  static constexpr int kGroupThreads = 4 * kWarp, kThreads = (kGroups + 1) * kGroupThreads;
  static constexpr int kCopyRegisters = 32, kRegisters = kGroups == 4 ? 112 : kGroups == 3 ? 160 : 232;
  static constexpr int kSumRegisters = kGroups == 4 ? 48 : kGroups == 3 ? 64 : 128;  ///< most of the sums of units
  static_assert(kGroups >= 2 && kGroups <= 4);
};

constexpr int floor_of_two(int number) {
  int power = 1;
  while (2 * power <= number) power *= 2;
  return power;
}

template <class F, class S>
struct BatchSizes {
  static constexpr int kStepsOfQuad = kQuad / kStep;
  /// Units of a chunk: as many as registers hold the sums of. Units: bytes unless said otherwise.
  static constexpr int kMostUnits =
      floor_of_two(S::kSumRegisters / (F::kHasOffset ? 2 : 1) / (4 * S::kRowTiles * S::kHalves));
  static constexpr int kChunkSteps = std::max(kStepsOfQuad, std::min(kChunk / kStep, kMostUnits* F::kUnitSteps));
  static constexpr int kUnits = kChunkSteps / F::kUnitSteps;
  // A stage, whose copies should be neither small nor too large for several stages.
  static constexpr int kQuadBytes = S::kRowTiles * kBlockBytes + S::kTiles * kStepsOfQuad * F::kStepBytes;
  static constexpr int kStageQuads =
      std::min({kChunkSteps / kStepsOfQuad, F::kVectorSteps, floor_of_two(((F::kHasBook ? 13 : 17) << 10) / kQuadBytes)});
  static constexpr int kStageSteps = kStageQuads * kStepsOfQuad, kChunkStages = kChunkSteps / kStageSteps;
  static constexpr int kStageUnits = std::max(1, kStageSteps / F::kUnitSteps);
  static constexpr int kWeights = kStageSteps * F::kStepBytes, kScales = kStageUnits * F::kScaleBytes;  // of one tile
  static constexpr int kUnitsOfQuad = std::max(1, kStepsOfQuad / F::kUnitSteps);
  static constexpr int kSumsOfItem =
      kUnitsOfQuad * kRowTile * 4;  // of the units of one quad, or a longer unit, and one row tile
  static constexpr int kSums = F::kHasOffset ? kStageUnits * kRowTile * 4 : 0;  // of one row tile
  static constexpr int kWeightsAt = S::kRowTiles * kStageQuads * kBlockBytes, kScalesAt = kWeightsAt + S::kTiles * kWeights;
  static constexpr int kSumsAt = kScalesAt + S::kTiles * kScales;
  static constexpr int kStage = (kSumsAt + S::kRowTiles * kSums + 1023) / 1024 * 1024;
  // Behind the rings: totals that are handed on, the codebook's table, and barriers.
  static constexpr int kMail = S::kHalves * S::kRowTiles * S::kGroupThreads * 16, kTable = F::kHasBook ? kPairTableBytes : 0;
  static constexpr int kMost = (227 << 10) - 1024 - kMail - kTable - S::kGroups * 32;
  static constexpr int kStages = std::min(8, kMost / S::kGroups / (kStage + 16));
  static constexpr int kMailAt = S::kGroups * kStages * kStage, kTableAt = kMailAt + kMail, kBarriersAt = kTableAt + kTable;
  static constexpr int kTurnsAt = kBarriersAt + S::kGroups * kStages * 16;
  static constexpr std::size_t kShared = std::size_t{kTurnsAt} + S::kGroups * 32 + 1024;
  static_assert(kStages >= 2 && kStages > (F::kHasOffset ? kChunkStages : 1) && kShared <= 227 << 10);
  static_assert(kChunkSteps % F::kUnitSteps == 0 && kChunkSteps % kStageSteps == 0);
  static_assert(F::kUnitSteps >= kStageSteps ? F::kUnitSteps % kStageSteps == 0 : kStageSteps % F::kUnitSteps == 0);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The shared memory of a block. Z: BatchSizes.
template <class S, class Z>
struct BatchMemory {
  std::uint32_t base;
  __device__ __forceinline__ explicit BatchMemory(const void* memory) : base((shared_address(memory) + 1023) & ~1023U) {}
  __device__ __forceinline__ std::uint32_t stage(int group, int slot) const {
    return base + (group * Z::kStages + slot) * Z::kStage;
  }
  __device__ __forceinline__ std::uint32_t full(int group, int slot) const {
    return base + Z::kBarriersAt + (group * Z::kStages + slot) * 16;
  }
  __device__ __forceinline__ std::uint32_t empty(int group, int slot) const { return full(group, slot) + 8; }
  /// The barrier at which a warp waits for its turn.
  __device__ __forceinline__ std::uint32_t turn(int group, int warp) const {
    return base + Z::kTurnsAt + (group * 4 + warp) * 8;
  }
  __device__ __forceinline__ void init() const {
    if (threadIdx.x != 0) return;
    for (int g = 0; g < S::kGroups; ++g) {
      for (int i = 0; i < Z::kStages; ++i) {
        init_barrier(full(g, i), 1);
        init_barrier(empty(g, i), 4);
      }
      for (int w = 0; w < 4; ++w) init_barrier(turn(g, w), 1);
    }
    publish_barriers();
  }
};

/// A slot of a ring.
template <int kStages>
struct BatchSlot {
  int slot = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++slot < kStages) return;
    slot = 0;
    parity ^= 1;
  }
};

/// The chunks of the warpgroups of a cluster: those of a block follow each other.
template <class S, class Z>
__device__ __forceinline__ ChunkTurns batch_turns(const BatchProduct& p) {
  return {.n_chunks = (p.n_steps + Z::kChunkSteps - 1) / Z::kChunkSteps,
          .n_groups = (p.n_tiles + S::kTiles - 1) / S::kTiles,
          .n_clusters = static_cast<int>(gridDim.x) / p.cluster,
          .cluster_size = 1,
          .n_warps = S::kGroups * p.cluster};
}
template <class S>
__device__ __forceinline__ int turn_of_group(const BatchProduct& p, int group) {
  return static_cast<int>(blockIdx.x) % p.cluster * S::kGroups + group;
}

/// The stages of a warpgroup in their order.
template <class S, class Z>
struct BatchWalk {
  const ChunkTurns& turns;
  int n_steps_of_all;
  ChunkOfGroup at;
  int in_chunk = 0;
  __device__ __forceinline__ BatchWalk(const BatchProduct& p, const ChunkTurns& of, int group)
      : turns(of),
        n_steps_of_all(p.n_steps),
        at(of.first_of(static_cast<int>(blockIdx.x) / p.cluster, {.warp = turn_of_group<S>(p, group)})) {}
  __device__ __forceinline__ bool is_there() const { return turns.is_there(at); }
  __device__ __forceinline__ int first_step() const { return at.chunk * Z::kChunkSteps + in_chunk * Z::kStageSteps; }
  __device__ __forceinline__ int n_steps() const { return min(n_steps_of_all - first_step(), Z::kStageSteps); }
  __device__ __forceinline__ void advance() {
    if (++in_chunk < Z::kChunkStages && first_step() < n_steps_of_all) return;
    in_chunk = 0;
    at = turns.next_of_warp(at);
  }
};

/// The work of one lane of the warp that copies for a warpgroup: weights or scales of a tile, x, or its sums.
template <class F, class S, class Z>
struct BatchCopies {
  static constexpr int kXLane = kWarp - 1, kSumsLane = kWarp - 2;
  const BatchProduct& p;
  const BatchMemory<S, Z>& memory;
  int group, lane;

  __device__ __forceinline__ bool copies_weights() const { return lane < kSumsLane; }
  __device__ __forceinline__ void expect(const BatchWalk<S, Z>& walk, int slot) const {
    const int n_tiles = min(p.n_tiles - walk.at.group * S::kTiles, S::kTiles);
    const std::uint32_t n_bytes = n_tiles * (walk.n_steps() * F::kStepBytes + n_units(walk) * F::kScaleBytes) +
                                  n_bytes_of_x(walk) + n_bytes_of_sums(walk);
    arrive_expecting(memory.full(group, slot), n_bytes);
  }
  __device__ __forceinline__ void copy(const BatchWalk<S, Z>& walk, int slot) const {
    const std::uint32_t stage = memory.stage(group, slot), barrier = memory.full(group, slot);
    const int in_block = lane % S::kTiles, kind = lane / S::kTiles, tile = walk.at.group * S::kTiles + in_block;
    if (lane == kXLane) {
      copy_bulk(stage, p.x + static_cast<std::int64_t>(walk.first_step() / Z::kStepsOfQuad) * p.n_row_tiles * kBlockBytes,
                n_bytes_of_x(walk), barrier);
    } else if (F::kHasOffset && lane == kSumsLane) {
      const int item = walk.first_step() / std::max(Z::kStepsOfQuad, F::kUnitSteps);
      copy_bulk(stage + Z::kSumsAt, p.unit_sums + static_cast<std::int64_t>(item) * p.n_row_tiles * Z::kSumsOfItem,
                n_bytes_of_sums(walk), barrier);
    } else if (kind == 0 && tile < p.n_tiles) {
      copy_bulk(stage + Z::kWeightsAt + in_block * Z::kWeights,
                p.weights + (static_cast<std::int64_t>(tile) * p.n_steps + walk.first_step()) * F::kStepBytes,
                walk.n_steps() * F::kStepBytes, barrier);
    } else if (F::kHasCodes && kind == 1 && tile < p.n_tiles) {
      const int scale_group = walk.first_step() * kStep >> p.group_shift;
      copy_bulk(stage + Z::kScalesAt + in_block * Z::kScales,
                p.scales + (static_cast<std::int64_t>(tile) * p.n_scale_groups + scale_group) * F::kScaleBytes,
                n_units(walk) * F::kScaleBytes, barrier);
    }
  }

 private:
  static __device__ __forceinline__ int n_units(const BatchWalk<S, Z>& walk) {
    return max(1, (walk.n_steps() + F::kUnitSteps - 1) / F::kUnitSteps);
  }
  __device__ __forceinline__ int n_bytes_of_x(const BatchWalk<S, Z>& walk) const {
    return walk.n_steps() / Z::kStepsOfQuad * p.n_row_tiles * kBlockBytes;
  }
  __device__ __forceinline__ int n_bytes_of_sums(const BatchWalk<S, Z>& walk) const {
    return F::kHasOffset ? n_units(walk) * p.n_row_tiles * (kRowTile * 4) : 0;
  }
};

/// Fills the ring of a warpgroup as it is emptied. Weights of the first stages are copied while the kernels before end.
template <class F, class S, class Z>
__device__ __forceinline__ void copy_batch(const BatchProduct& p, const BatchMemory<S, Z>& memory, int group) {
  const BatchCopies<F, S, Z> copies{.p = p, .memory = memory, .group = group, .lane = static_cast<int>(threadIdx.x) % kWarp};
  const ChunkTurns turns = batch_turns<S, Z>(p);
  int n_early = 0;
  for (BatchWalk<S, Z> walk(p, turns, group); walk.is_there() && n_early < Z::kStages; walk.advance(), ++n_early) {
    if (copies.lane == 0) copies.expect(walk, n_early);
    __syncwarp();
    if (copies.copies_weights()) copies.copy(walk, n_early);
  }
  wait_for_previous();
  BatchSlot<Z::kStages> at;
  for (BatchWalk<S, Z> walk(p, turns, group); walk.is_there(); walk.advance(), at.advance()) {
    if (n_early > 0) {
      --n_early;
      if (!copies.copies_weights()) copies.copy(walk, at.slot);
      continue;
    }
    wait_phase(memory.empty(group, at.slot), at.parity ^ 1);
    if (copies.lane == 0) copies.expect(walk, at.slot);
    __syncwarp();
    copies.copy(walk, at.slot);
  }
}

/// The work of a warpgroup.
template <class F, class S, class Z>
struct BatchMultiplier {
  static constexpr int kHalves = S::kHalves, kRowTiles = S::kRowTiles;
  // Fragments of four steps are in registers, two of them loaded before they are needed.
  static constexpr int kFragments = 4, kAhead = 2, kRunning = kFragments - kAhead;
  static constexpr bool kHolds = F::kHasOffset;  // stages stay until their units are added

  const BatchProduct& p;
  const BatchMemory<S, Z>& memory;
  const std::uint32_t* table;  // of pairs of a codebook
  const ChunkTurns& turns;
  int group, warp, lane;
  BatchSlot<Z::kStages> at;  // the first stage of the chunk
  std::uint32_t turn_parity = 0;
  uint4 vectors[kHalves];
  std::uint32_t fragments[kFragments][kHalves][4];
  float sums[Z::kUnits][kHalves][S::kRows / 2];
  StoredScales<F::kScales> scales[Z::kUnits][kHalves];

  __device__ __forceinline__ BatchMultiplier(const BatchProduct& of, const BatchMemory<S, Z>& in, const std::uint32_t* pairs,
                                             const ChunkTurns& order)
      : p(of),
        memory(in),
        table(pairs),
        turns(order),
        group(static_cast<int>(threadIdx.x) / S::kGroupThreads),
        warp(static_cast<int>(threadIdx.x) / kWarp % 4),
        lane(static_cast<int>(threadIdx.x) % kWarp) {}

  __device__ __forceinline__ void run() {
    const int own = turn_of_group<S>(p, group);
    const Successor next = successor_of(own);
    bool is_first = own == 0;
    ChunkOfGroup use = turns.first_of(static_cast<int>(blockIdx.x) / p.cluster, {.warp = own});
    while (turns.is_there(use)) {
      const int n_steps = min(p.n_steps - use.chunk * Z::kChunkSteps, Z::kChunkSteps);
      multiply_chunk(n_steps);
      take_turn(use, next, is_first, n_steps);
      is_first = false;
      const int n_stages = (n_steps + Z::kStageSteps - 1) / Z::kStageSteps;
      if constexpr (kHolds) {
        for (int i = 0; i < n_stages; ++i) release(slot_of(i).slot);
      }
      for (int i = 0; i < n_stages; ++i) at.advance();
      use = turns.next_of_warp(use);
    }
  }

 private:
  __device__ __forceinline__ BatchSlot<Z::kStages> slot_of(int stage) const {
    const int slot = at.slot + stage;
    return slot < Z::kStages ? BatchSlot<Z::kStages>{slot, at.parity}
                             : BatchSlot<Z::kStages>{slot - Z::kStages, at.parity ^ 1};
  }
  __device__ __forceinline__ void release(int slot) const {
    __syncwarp();
    if (lane == 0) arrive(memory.empty(group, slot));
  }

  /// Computes the fragments of a step of the chunk; waits for its stage if it is the stage's first.
  template <int kI>
  __device__ __forceinline__ void load() {
    constexpr int kStageOf = kI / Z::kStageSteps, kInStage = kI % Z::kStageSteps;
    constexpr int kVector = kInStage / F::kVectorSteps, kInVector = kInStage % F::kVectorSteps;
    const BatchSlot<Z::kStages> slot = slot_of(kStageOf);
    if constexpr (kInStage == 0) wait_phase(memory.full(group, slot.slot), slot.parity);
    const std::uint32_t stage = memory.stage(group, slot.slot);
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
      const int tile = h * 4 + warp;
      if constexpr (kInVector == 0)
        vectors[h] = read_shared<uint4>(stage + Z::kWeightsAt + tile * Z::kWeights + kVector * (kWarp * 16) + lane * 16);
      if constexpr (F::kHasCodes && kI % F::kUnitSteps == 0)
        scales[kI / F::kUnitSteps][h] = read_shared<StoredScales<F::kScales>>(
            stage + Z::kScalesAt + tile * Z::kScales + kInStage / F::kUnitSteps * F::kScaleBytes +
            lane / 4 * static_cast<int>(sizeof(StoredScales<F::kScales>)));
      std::uint32_t(&a)[4] = fragments[kI % kFragments][h];
      exact_fragment<F, kInVector>(a, vectors[h], p.constants, table);
      if constexpr (F::kHasCodes) asm volatile("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]));
    }
  }

  template <int kI>
  __device__ __forceinline__ void multiply_step(int n_steps) {
    constexpr int kStageOf = kI / Z::kStageSteps, kInStage = kI % Z::kStageSteps;
    const std::uint32_t x = memory.stage(group, slot_of(kStageOf).slot) + kInStage / 4 * p.n_row_tiles * kBlockBytes;
    begin_products();
#pragma unroll
    for (int h = 0; h < kHalves; ++h)
      multiply_async<S::kRows>(sums[kI / F::kUnitSteps][h], fragments[kI % kFragments][h],
                               descriptor_of(x) + 2 * (kInStage % 4), kI % F::kUnitSteps == 0 ? 0 : 1);
    commit_products();
    wait_products<kRunning>();
    constexpr int kDone = kI - kRunning;
    if constexpr (!kHolds && kDone >= 0 && kDone % Z::kStageSteps == Z::kStageSteps - 1)
      release(slot_of(kDone / Z::kStageSteps).slot);
    constexpr int kNext = kI + kAhead;
    if constexpr (kNext < Z::kChunkSteps) {
      if (kNext % 4 >= kAhead || kNext < n_steps) load<kNext>();
    }
  }

  /// Multiplies the steps of a chunk, a multiple of four.
  __device__ __forceinline__ void multiply_chunk(int n_steps) {
    load<0>();
    load<1>();
    [&]<int... kFour>(std::integer_sequence<int, kFour...>) {
      ((kFour * 4 < n_steps ? (multiply_step<4 * kFour>(n_steps), multiply_step<4 * kFour + 1>(n_steps),
                               multiply_step<4 * kFour + 2>(n_steps), multiply_step<4 * kFour + 3>(n_steps))
                            : void()),
       ...);
    }(std::make_integer_sequence<int, Z::kChunkSteps / 4>());
    wait_products<0>();
#pragma unroll
    for (int u = 0; u < Z::kUnits; ++u) {
#pragma unroll
      for (int h = 0; h < kHalves; ++h) pin(sums[u][h]);
    }
    if constexpr (!kHolds) release(slot_of((n_steps - 1) / Z::kStageSteps).slot);
  }

  using Totals = float[kHalves][kRowTiles][4];
  static constexpr int kMailStep = S::kGroupThreads * 16;  // from one row tile to the next

  /// The warpgroup that takes the chunk after this one. In another block: addresses are those of in_block().
  struct Successor {
    bool is_far = false;
    std::uint32_t mail = 0, turn = 0;  // of this thread and its warp
  };
  __device__ __forceinline__ std::uint32_t mail() const {
    return memory.base + Z::kMailAt + (threadIdx.x % S::kGroupThreads) * 16;
  }
  __device__ __forceinline__ Successor successor_of(int own) const {
    const int next = turns.successor({.warp = own}).warp, next_group = next % S::kGroups;
    Successor to{.is_far = p.cluster > 1 && next_group == 0, .mail = mail(), .turn = memory.turn(next_group, warp)};
    if (!to.is_far) return to;
    to.mail = in_block(to.mail, next / S::kGroups);
    to.turn = in_block(to.turn, next / S::kGroups);
    return to;
  }

  /// Adds the sums of the chunk to the totals of the chunks before it, and hands them on or stores them. All warpgroups of
  /// the cluster wait for each other here, so nothing is done between the wait and the arrival that can be done elsewhere.
  __device__ __forceinline__ void take_turn(const ChunkOfGroup& use, const Successor& next, bool is_first, int n_steps) {
    const bool is_last = turns.is_last_of_group(use);
    Totals totals;
    if (is_first) {
      clear(totals);
    } else {
      const std::uint32_t turn = memory.turn(group, warp);
      if (p.cluster > 1 && group == 0 && lane == 0) arrive_expecting(turn, kHalves * kRowTiles * kWarp * 16);
      wait_phase(turn, turn_parity);
      turn_parity ^= 1;
#pragma unroll
      for (int i = 0; i < kHalves * kRowTiles; ++i) {
        const float4 before = read_shared<float4>(mail() + i * kMailStep);
        float(&total)[4] = totals[i / kRowTiles][i % kRowTiles];
        total[0] = before.x, total[1] = before.y, total[2] = before.z, total[3] = before.w;
      }
    }
#pragma unroll
    for (int u = 0; u < Z::kUnits; ++u) {
      if (u * F::kUnitSteps < n_steps) add_unit(totals, u);
    }
    if (!is_last) return hand_on(next, totals);
    if (turns.has_next(use)) {
      Totals zeros;
      clear(zeros);
      hand_on(next, zeros);
    }
    store(totals, use.group);
  }

  static __device__ __forceinline__ void clear(Totals& totals) {
#pragma unroll
    for (int i = 0; i < kHalves * kRowTiles * 4; ++i) totals[i / (kRowTiles * 4)][i / 4 % kRowTiles][i % 4] = 0;
  }

  static __device__ __forceinline__ float4 four_of(const float (&total)[4]) {
    return make_float4(total[0], total[1], total[2], total[3]);
  }
  __device__ __forceinline__ void hand_on(const Successor& next, const Totals& totals) const {
    if (next.is_far) {
#pragma unroll
      for (int i = 0; i < kHalves * kRowTiles; ++i)
        store_async(next.mail + i * kMailStep, four_of(totals[i / kRowTiles][i % kRowTiles]), next.turn);
      return;
    }
#pragma unroll
    for (int i = 0; i < kHalves * kRowTiles; ++i)
      write_shared(next.mail + i * kMailStep, four_of(totals[i / kRowTiles][i % kRowTiles]));
    __syncwarp();
    if (lane == 0) arrive(next.turn);
  }

  __device__ __forceinline__ void add_unit(Totals& totals, int u) const {
    const int first = u * F::kUnitSteps, in_stage = first % Z::kStageSteps / F::kUnitSteps;
    const std::uint32_t x_sums = memory.stage(group, slot_of(first / Z::kStageSteps).slot) + Z::kSumsAt +
                                 in_stage / Z::kUnitsOfQuad * p.n_row_tiles * Z::kSumsOfItem +
                                 in_stage % Z::kUnitsOfQuad * (kRowTile * 4) + lane % 4 * 8;
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
      const Scales widened = scales[u][h].widened();
#pragma unroll
      for (int t = 0; t < kRowTiles; ++t) {
        float2 of_x{0, 0};
        if constexpr (F::kHasOffset) of_x = read_shared<float2>(x_sums + t * Z::kSumsOfItem);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          totals[h][t][i] =
              total_with<F::kScales>(totals[h][t][i], sums[u][h][4 * t + i], i % 2 == 0 ? of_x.x : of_x.y,
                                     i < 2 ? widened.scale.x : widened.scale.y, i < 2 ? widened.offset.x : widened.offset.y);
      }
    }
  }

  __device__ __forceinline__ void store(const Totals& totals, int tile) const {
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int output = (tile * S::kTiles + h * 4 + warp) * kTile + lane / 4 + i / 2 * 8;
        if (output >= p.n_outputs) continue;
        const float bias = p.bias != nullptr ? p.bias[output] : 0;
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
          const int row = t * kRowTile + lane % 4 * 2 + i % 2;
          const float total = totals[h][t][i];
          if (row < p.n_rows) p.out[row * p.stride + output] = p.bias != nullptr ? __fadd_rn(total, bias) : total;
        }
      }
    }
  }
};

#endif

template <class F, class S>
__global__ void __launch_bounds__(S::kThreads, 1) multiply_batch_rows(const __grid_constant__ BatchProduct p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Z = BatchSizes<F, S>;
  extern __shared__ unsigned char shared_of_batch[];
  let_next_begin();
  const BatchMemory<S, Z> memory(shared_of_batch);
  std::uint32_t* table = nullptr;
  memory.init();
  if constexpr (F::kHasBook) {
    table =
        reinterpret_cast<std::uint32_t*>(shared_of_batch + (memory.base - shared_address(shared_of_batch)) + Z::kTableAt);
    fill_pair_table<S::kThreads>(table, p.constants);
    table += threadIdx.x % kWarp;
  }
  __syncthreads();
  if (p.cluster > 1) sync_cluster();
  const int group = static_cast<int>(threadIdx.x) / S::kGroupThreads;
  if (group == S::kGroups) {
    shrink_registers<S::kCopyRegisters>();
    const int of_group = static_cast<int>(threadIdx.x) / kWarp % 4;
    if (of_group < S::kGroups) copy_batch<F, S, Z>(p, memory, of_group);
  } else {
    grow_registers<S::kRegisters>();
    wait_for_previous();
    const ChunkTurns turns = batch_turns<S, Z>(p);
    BatchMultiplier<F, S, Z> multiplier(p, memory, table, turns);
    multiplier.run();
  }
  if (p.cluster > 1) sync_cluster();
#endif
}

/// Blocks that share the k of a tile: two where one for each tile would leave half of the multiprocessors idle.
inline int batch_cluster(std::int64_t n_tiles, int n_processors) { return 2 * n_tiles <= n_processors ? 2 : 1; }

template <class F, class S>
void launch_batch(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias,
                  const float* unit_sums) {
  using Z = BatchSizes<F, S>;
  const auto kernel = multiply_batch_rows<F, S>;
  static const int n_processors = [&] {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(Z::kShared)),
          "setting the shared memory of a product");
    int device = 0, count = 0;
    check(cudaGetDevice(&device), "querying the device");
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "querying the device");
    return count;
  }();
  const MatrixLayout& layout = matrix.layout;
  LATHE_CHECK(layout.group == 0 || std::has_single_bit(static_cast<std::uint64_t>(layout.group)));
  LATHE_CHECK(x.n_rows <= S::kRows);
  const std::int64_t n_tiles = div_up(layout.n_tiles(), S::kTiles);
#ifdef LATHE_BATCH_CLUSTER
  const int cluster = LATHE_BATCH_CLUSTER;
#else
  const int cluster = batch_cluster(n_tiles, n_processors);
#endif
  const BatchProduct p{.weights = static_cast<const std::byte*>(matrix.weights),
                       .scales = static_cast<const std::byte*>(matrix.scales),
                       .x = static_cast<const std::byte*>(x.data),
                       .unit_sums = reinterpret_cast<const std::byte*>(unit_sums),
                       .n_row_tiles = static_cast<int>(div_up(x.n_rows, kRowTile)),
                       .n_tiles = static_cast<int>(layout.n_tiles()),
                       .n_steps = static_cast<int>(layout.n_steps()),
                       .n_scale_groups = static_cast<int>(layout.n_groups()),
                       .group_shift = layout.group == 0 ? 31 : std::countr_zero(static_cast<std::uint64_t>(layout.group)),
                       .cluster = cluster,
                       .constants = code_constants(matrix),
                       .out = out.data,
                       .stride = out.stride,
                       .bias = bias,
                       .n_rows = static_cast<int>(x.n_rows),
                       .n_outputs = static_cast<int>(layout.n)};
  const auto n_clusters = std::min<std::int64_t>(n_tiles, n_processors / cluster);
  launch_dependent_clusters(kernel, dim3(static_cast<unsigned>(n_clusters * cluster)), dim3(S::kThreads),
                            static_cast<unsigned>(cluster), Z::kShared, stream, p);
}

}  // namespace lathe::kernels::cuda
