// SPDX-License-Identifier: Apache-2.0
// Rows by expert. A block has one row: it counts the pairs of all rows, so that blocks need not wait for each other, finds
// the slots of its own pairs, and writes x there. The first block writes the list of experts.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/experts.h"
#include "kernels/cuda/ops/fragments.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr unsigned kAll = 0xffffffffU;
constexpr int kThreads = 256;

struct Counts {
  int of_expert[kMaxExperts];  ///< pairs
  int first_slot[kMaxExperts];
  std::uint32_t choices[kMaxExperts];  ///< bits: the choices of this row that are the expert
  int before[kMostChosen];             ///< pairs of the same expert before each choice of this row
};

__device__ void count_pairs(Counts& counts, const ChosenRows& chosen, int row, int n_experts) {
  for (int e = threadIdx.x; e < n_experts; e += kThreads) counts.of_expert[e] = counts.choices[e] = 0;
  if (threadIdx.x < kMostChosen) counts.before[threadIdx.x] = 0;
  __syncthreads();
  const int first = row * chosen.top_k;
  if (threadIdx.x < chosen.top_k) atomicOr(&counts.choices[chosen.data[first + threadIdx.x].expert], 1U << threadIdx.x);
  __syncthreads();
  const int n_pairs = chosen.n_rows * chosen.top_k;
  for (int pair = threadIdx.x; pair < n_pairs; pair += kThreads) {
    const int expert = chosen.data[pair].expert;
    atomicAdd(&counts.of_expert[expert], 1);
    for (std::uint32_t left = counts.choices[expert]; left != 0; left &= left - 1) {
      const int choice = __ffs(static_cast<int>(left)) - 1;
      if (pair < first + choice) atomicAdd(&counts.before[choice], 1);
    }
  }
  __syncthreads();
}

/// The sum of the numbers of this thread and those before it.
__device__ inline int sum_to(int number, int lane) {
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int other = __shfl_up_sync(kAll, number, distance);
    if (lane >= distance) number += other;
  }
  return number;
}

/// Finds the first slot of each expert; writes the list of experts if `list` is not null. For one warp.
__device__ void place_experts(Counts& counts, ExpertRows* list, int n_experts, int lane) {
  int n_slots = 0, n_slices = 0, n_listed = 0;  // of the experts before
  for (int first = 0; first < n_experts; first += kWarp) {
    const int expert = first + lane, n = expert < n_experts ? counts.of_expert[expert] : 0;
    const int slots = sum_to(slots_of(n), lane), slices = sum_to(slices_of(n), lane);
    const unsigned with_rows = __ballot_sync(kAll, n > 0);
    const int first_slot = n_slots + slots - slots_of(n);
    if (expert < n_experts) counts.first_slot[expert] = first_slot;
    if (list != nullptr && n > 0) {
      const int at = 1 + n_listed + __popc(with_rows & ((1U << lane) - 1));
      list[at] = {.expert = expert, .first_slot = first_slot, .n_rows = n, .first_slice = n_slices + slices - slices_of(n)};
    }
    n_slots += __shfl_sync(kAll, slots, kWarp - 1);
    n_slices += __shfl_sync(kAll, slices, kWarp - 1);
    n_listed += __popc(with_rows);
  }
  if (list != nullptr && lane == 0) list[0] = {.n_rows = n_listed, .first_slice = n_slices};
}

__global__ void __launch_bounds__(kThreads) place(PlacedRows to, Rows x, ChosenRows chosen, int n_experts) {
  __shared__ Counts counts;
  __shared__ int slots[kMostChosen];
  let_next_begin();
  wait_for_previous();
  const int row = blockIdx.x;
  count_pairs(counts, chosen, row, n_experts);
  if (threadIdx.x < kWarp) place_experts(counts, row == 0 ? to.experts : nullptr, n_experts, threadIdx.x);
  __syncthreads();
  if (threadIdx.x < chosen.top_k) {
    const int pair = row * chosen.top_k + threadIdx.x;
    const int slot = counts.first_slot[chosen.data[pair].expert] + counts.before[threadIdx.x];
    slots[threadIdx.x] = slot;
    to.pair_of[slot] = pair;
  }
  __syncthreads();
  const int n_steps = static_cast<int>(to.x.padded_k / kStep), n_columns = static_cast<int>(x.n_columns);
  const float* const from = x.data + row * x.stride;
  const auto number = [&](int k) { return k < n_columns ? from[k] : 0.0F; };
  for (int four = threadIdx.x; four < n_steps * 4; four += kThreads) {  // what one thread of a product takes of a step
    const int step = four / 4, k = step * kStep + four % 4 * 2;
    const uint2 numbers{packed(number(k), number(k + 1)), packed(number(k + 8), number(k + 9))};
    for (int choice = 0; choice < chosen.top_k; ++choice) {
      const std::int64_t slot = slots[choice];
      static_cast<uint2*>(to.x.data)[(slot / kRowTile * n_steps + step) * kWarp + slot % kRowTile * 4 + four % 4] = numbers;
    }
  }
}

// The place of four adjacent elements of a thread is that of x_place().
static_assert(x_place(13, 5 * kStep + 6, 9) == ((13 / kRowTile * 9 + 5) * kWarp + 13 % kRowTile * 4 + 3) * 4);
static_assert(x_place(13, 5 * kStep + 7, 9) == x_place(13, 5 * kStep + 6, 9) + 1);
static_assert(x_place(13, 5 * kStep + 6 + 8, 9) == x_place(13, 5 * kStep + 6, 9) + 2);
static_assert(x_place(13, 5 * kStep + 7 + 8, 9) == x_place(13, 5 * kStep + 6, 9) + 3);

}  // namespace

void place_rows(Stream stream, const PlacedRows& to, const Rows& x, const ChosenRows& chosen, int n_experts) {
  if (chosen.n_rows == 0) return;
  LATHE_CHECK(x.n_rows == chosen.n_rows && chosen.top_k <= kMostChosen && n_experts <= kMaxExperts);
  LATHE_CHECK(to.x.is_bf16 && to.x.padded_k >= x.n_columns);
  launch_dependent(place, static_cast<unsigned>(chosen.n_rows), kThreads, 0, stream, to, x, chosen, n_experts);
}

}  // namespace lathe::kernels::cuda
