// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts on the device: functions that launch kernels in a stream. Order: route(), place_rows(),
// multiply_experts_gated(), multiply_experts(), combine_experts().
#pragma once

#include "kernels/api/router.h"
#include "kernels/cuda/layout/expert_items.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

// A row's experts are kept in the threads of a warp.
inline constexpr std::int64_t kMostChosen = kWarp;

/// The experts of rows, top_k for each row.
struct ChosenRows {
  Chosen* data = nullptr;
  int n_rows = 0, top_k = 0;
};

/// The matrix of one expert, as kernels find it.
struct ExpertMatrix {
  const std::byte* weights = nullptr;
  const std::byte* scales = nullptr;
  const float* bias = nullptr;  ///< null: no bias
};
/// Matrices of all experts of a layer that have the same role. `form`: the shape and format that all have.
struct ExpertMatrices {
  StoredMatrix form;
  const ExpertMatrix* of_expert = nullptr;  ///< [n_experts], on the device
};

/// The rows of a step by expert (expert_items.h).
struct PlacedRows {
  ExpertRows* experts = nullptr;    ///< [1 + n_experts]: n_rows and first_slice of the first count the others and all slices
  std::int32_t* pair_of = nullptr;  ///< [slots]
  PreparedX x;                      ///< n_rows: slots
};

/// Backend::route(). Requires: top_k <= kMostChosen, n_experts <= kMaxExperts.
void route(Stream stream, const ChosenRows& to, const Rows& logits, const RouterForm& form, const float* bias);
/// Sorts the pairs by expert, and prepares x of each pair for a product.
void place_rows(Stream stream, const PlacedRows& to, const Rows& x, const ChosenRows& chosen, int n_experts);
/// Prepares the input of down for each slot: the bits of multiply_gated(). Requires: gate and up have one shape and format.
void multiply_experts_gated(Stream stream, const PreparedX& to, const PlacedRows& rows, const ExpertMatrices& gate,
                            const ExpertMatrices& up, Activation activation, int n_processors);
/// out[pair] = x[slot] matrix^T + bias, with the matrix of the pair's expert: the bits of multiply_few().
void multiply_experts(Stream stream, const Rows& out, const PlacedRows& rows, const PreparedX& x,
                      const ExpertMatrices& matrices, int n_processors);
/// out[row] = the sum of weight * pairs[row * top_k + choice], by ascending expert.
void combine_experts(Stream stream, const Rows& out, const Rows& pairs, const ChosenRows& chosen);

}  // namespace lathe::kernels::cuda
