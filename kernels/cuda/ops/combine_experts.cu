// SPDX-License-Identifier: Apache-2.0
// The weighted sum of the outputs of a row's experts, by ascending expert: the bits of fill() and add_rows() for one expert
// after another.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/experts.h"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) combine(Rows out, Rows pairs, ChosenRows chosen) {
  __shared__ Chosen of_row[kMostChosen];
  __shared__ float weights[kMostChosen];
  __shared__ std::int64_t choices[kMostChosen];
  let_next_begin();
  wait_for_previous();
  const std::int64_t row = blockIdx.x, first = row * chosen.top_k;
  const int own = threadIdx.x;
  if (own < chosen.top_k) of_row[own] = chosen.data[first + own];
  __syncthreads();
  if (own < chosen.top_k) {
    int at = 0;
    for (int i = 0; i < chosen.top_k; ++i)
      at += of_row[i].expert < of_row[own].expert || (of_row[i].expert == of_row[own].expert && i < own);
    weights[at] = of_row[own].weight;
    choices[at] = first + own;
  }
  __syncthreads();
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (column >= out.n_columns) return;
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < chosen.top_k; ++i) sum = fmaf(weights[i], pairs.data[choices[i] * pairs.stride + column], sum);
  out.data[row * out.stride + column] = sum;
}

}  // namespace

void combine_experts(Stream stream, const Rows& out, const Rows& pairs, const ChosenRows& chosen) {
  if (chosen.n_rows == 0) return;
  LATHE_CHECK(out.n_rows == chosen.n_rows && out.n_columns == pairs.n_columns && chosen.top_k <= kMostChosen);
  const dim3 grid(static_cast<unsigned>(out.n_rows), static_cast<unsigned>(div_up(out.n_columns, kThreads)));
  launch_dependent(combine, grid, kThreads, 0, stream, out, pairs, chosen);
}

}  // namespace lathe::kernels::cuda
