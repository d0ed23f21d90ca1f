// SPDX-License-Identifier: Apache-2.0
// The choice of experts: choose_experts() (kernels/api/router.h) for each row, by one warp. Sums over experts are added in
// another order than there.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/experts.h"

namespace lathe::kernels::cuda {
namespace {

constexpr unsigned kAll = 0xffffffffU;

/// RouterForm as the kernel takes it.
struct Form {
  int n_experts, top_k, n_groups, topk_groups;
  RouterScore score;
  GroupScore group_score;
  bool divides;
  float scale, twice_jitter;
};

/// Numbers of a row in shared memory.
struct RowScores {
  float scores[kMaxExperts];
  float choices[kMaxExperts];  ///< -infinity: may not be chosen, or was
  float ranks[kMaxExperts];    ///< of groups
};

__device__ inline float sum_of_all(float number) {
  for (int other = kWarp / 2; other > 0; other /= 2) number += __shfl_xor_sync(kAll, number, other);
  return number;
}
__device__ inline float largest_of_all(float number) {
  for (int other = kWarp / 2; other > 0; other /= 2) number = fmaxf(number, __shfl_xor_sync(kAll, number, other));
  return number;
}

__device__ void score_experts(RowScores& row, const float* logits, const Form& form, int lane) {
  float largest = -INFINITY, sum = 0;
  for (int i = lane; i < form.n_experts; i += kWarp) {
    const float x = logits[i];
    row.scores[i] = form.score == RouterScore::sigmoid ? 1 / (1 + expf(-x)) : x;
    largest = fmaxf(largest, x);
  }
  if (form.score != RouterScore::softmax) return;
  largest = largest_of_all(largest);
  for (int i = lane; i < form.n_experts; i += kWarp) sum += row.scores[i] = expf(row.scores[i] - largest);
  sum = sum_of_all(sum);
  for (int i = lane; i < form.n_experts; i += kWarp) row.scores[i] /= sum;
}

__device__ float rank_of_group(const float* choices, int size, GroupScore kind) {
  float best = -INFINITY, second = -INFINITY;
  for (int i = 0; i < size; ++i) {
    const float x = choices[i];
    if (x > best) {
      second = best;
      best = x;
    } else if (x > second) {
      second = x;
    }
  }
  return kind == GroupScore::best_two ? best + second : best;
}

/// Excludes all experts but those of the topk_groups best groups; of equal groups the first is better.
__device__ void close_groups(RowScores& row, const Form& form, int lane) {
  const int size = form.n_experts / form.n_groups;
  for (int g = lane; g < form.n_groups; g += kWarp)
    row.ranks[g] = rank_of_group(row.choices + g * size, size, form.group_score);
  __syncwarp();
  for (int g = lane; g < form.n_groups; g += kWarp) {
    int n_before = 0;
    for (int other = 0; other < form.n_groups; ++other)
      n_before += row.ranks[other] > row.ranks[g] || (row.ranks[other] == row.ranks[g] && other < g);
    if (n_before < form.topk_groups) continue;
    for (int i = 0; i < size; ++i) row.choices[g * size + i] = -INFINITY;
  }
  __syncwarp();
}

/// The expert with the largest choice, the first of equal ones.
__device__ int best_expert(const RowScores& row, int n_experts, int lane) {
  float best = -INFINITY;
  int at = INT_MAX;
  const auto take = [&](float x, int i) {
    if (x > best || (x == best && i < at)) best = x, at = i;
  };
  for (int i = lane; i < n_experts; i += kWarp) take(row.choices[i], i);
  for (int other = kWarp / 2; other > 0; other /= 2)
    take(__shfl_xor_sync(kAll, best, other), __shfl_xor_sync(kAll, at, other));
  return min(at, n_experts - 1);  // a row of NaN has no best one
}

/// Softmax of the best choice over the choices within the jitter.
__device__ float mixed_weight(const RowScores& row, int best_at, const Form& form, int lane) {
  const float best = row.choices[best_at];
  float sum = 0;
  for (int i = lane; i < form.n_experts; i += kWarp) {
    const float x = row.choices[i];
    const bool is_far = (best - x) / fmaxf(fabsf(x), best) > form.twice_jitter;
    if (x != -INFINITY && !is_far) sum += expf(x - best);
  }
  return 1 / sum_of_all(sum);
}

__global__ void __launch_bounds__(kWarp) route_rows(Chosen* chosen, Rows logits, Form form, const float* bias) {
  __shared__ RowScores row;
  let_next_begin();
  wait_for_previous();
  const int lane = threadIdx.x;
  score_experts(row, logits.data + blockIdx.x * logits.stride, form, lane);
  for (int i = lane; i < form.n_experts; i += kWarp) row.choices[i] = row.scores[i] + (bias != nullptr ? bias[i] : 0.0F);
  __syncwarp();
  if (form.n_groups > 1) close_groups(row, form, lane);
  Chosen own;  // the choice of this thread's number
  float sum = 0;
  for (int choice = 0; choice < form.top_k; ++choice) {
    const int best = best_expert(row, form.n_experts, lane);
    const float weight = form.score == RouterScore::sparse_mixer ? mixed_weight(row, best, form, lane) : row.scores[best];
    __syncwarp();
    if (lane == 0) row.choices[best] = -INFINITY;
    if (lane == choice) own = {best, weight};
    __syncwarp();
    sum += weight;
  }
  if (form.score == RouterScore::softmax_chosen) {
    own.weight = expf(own.weight - __shfl_sync(kAll, own.weight, 0));
    sum = 0;
    for (int choice = 0; choice < form.top_k; ++choice) sum += __shfl_sync(kAll, own.weight, choice);
  }
  own.weight *= form.scale / (form.divides ? sum + 1e-20F : 1.0F);
  if (lane < form.top_k) chosen[static_cast<std::int64_t>(blockIdx.x) * form.top_k + lane] = own;
}

}  // namespace

void route(Stream stream, const ChosenRows& to, const Rows& logits, const RouterForm& form, const float* bias) {
  if (to.n_rows == 0) return;
  LATHE_CHECK(form.top_k == to.top_k && form.top_k <= kMostChosen && form.n_experts <= kMaxExperts);
  LATHE_CHECK(logits.n_rows == to.n_rows && logits.n_columns == form.n_experts);
  const Form taken{.n_experts = static_cast<int>(form.n_experts),
                   .top_k = to.top_k,
                   .n_groups = static_cast<int>(form.n_groups),
                   .topk_groups = static_cast<int>(form.topk_groups),
                   .score = form.score,
                   .group_score = form.group_score,
                   .divides = form.normalises || form.score == RouterScore::softmax_chosen,
                   .scale = static_cast<float>(form.scale),
                   .twice_jitter = static_cast<float>(2 * form.jitter)};
  launch_dependent(route_rows, static_cast<unsigned>(to.n_rows), kWarp, 0, stream, to.data, logits, taken, bias);
}

}  // namespace lathe::kernels::cuda
