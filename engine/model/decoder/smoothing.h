// SPDX-License-Identifier: Apache-2.0
// Smoothing: moves the range of activations into the weights that they meet, so that both can be rounded to 8 bits.
// Equation: y = (x diag(s)^-1) (diag(s) W), s_j = max |x_j|^alpha / max |W_j|^(1 - alpha), j an input of the product. The
// norm that gives x gives x diag(s)^-1 once its weight is divided by s, so nothing is left to do at run time. Q, K and V
// share their input, gate and up theirs; o and down have no norm before them and stay as they are.
// Source: Xiao et al. 2022 (SmoothQuant), section 4, and the authors' code, whose maxima and s are at least 1e-5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/weight_plan.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// s of the products behind the two norms of a layer, [H] each.
struct LayerSmoothing {
  std::vector<float> attention, mlp;
};

struct Smoothing {
  std::vector<LayerSmoothing> layers;  ///< none: nothing is smoothed
  bool plus_one = false;               ///< of the model's norms (NormConfig)

  /// s [H] of a norm or a matrix; empty: it stays as it is.
  std::span<const float> factors_of(WeightRole role, std::int64_t layer) const;
  /// The tensor as it is to be packed, in f32 in `memory`: a norm / s, a matrix [rows, H] * s. `source` where it stays.
  kernels::TensorView applied(kernels::Backend& backend, const PlannedWeight& weight, const kernels::TensorView& source,
                              std::vector<float>& memory) const;
};

/// Whether each product behind Q, K and V, and behind gate and up, has a norm of its own before it.
bool can_smooth(const ModelConfig& config);

/// s [H] of what was seen of activations and weights, both [H].
std::vector<float> smoothing_factors(std::span<const float> largest_x, std::span<const float> largest_weight, double alpha);

/// largest[j] = max(largest[j], |source[i, j]|) over the rows of a matrix [rows, H] of any floating type.
void raise_to_magnitudes(kernels::Backend& backend, const kernels::TensorView& source, std::span<float> largest);

}  // namespace lathe::engine
