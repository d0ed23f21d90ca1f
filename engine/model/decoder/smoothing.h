// SPDX-License-Identifier: Apache-2.0
// Smoothing: moves the range of activations into the weights that multiply them, so that both can be rounded to 8 bits.
// Equation: y = (x diag(s)^-1) (diag(s) W), s_j = max |x_j|^alpha / max |W_j|^(1 - alpha), j an input of the product. The
// norm before the product yields x diag(s)^-1 once its weight is divided by s, so nothing remains to be done at run time. Q,
// K and V share their input, and so do gate and up; o and down follow no norm and are not smoothed.
// Source: Xiao et al. 2022 (SmoothQuant), section 4, and the authors' code, whose maxima and s are at least 1e-5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/weight_plan.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// s for the products that follow the two norms of a layer; [H] each.
struct LayerSmoothing {
  std::vector<float> attention, mlp;
};

struct Smoothing {
  std::vector<LayerSmoothing> layers;  ///< empty: nothing is smoothed
  bool plus_one = false;               ///< as NormConfig::plus_one of the model

  /// s [H] for a norm or a matrix; empty: the tensor is not smoothed.
  std::span<const float> factors_of(WeightRole role, std::int64_t layer) const;
  /// Returns the tensor to pack, in f32 in `memory`: a norm / s, a matrix [rows, H] * s; `source` if it is not smoothed.
  kernels::TensorView applied(kernels::Backend& backend, const PlannedWeight& weight, const kernels::TensorView& source,
                              std::vector<float>& memory) const;
};

/// True if Q, K and V, and likewise gate and up, follow a norm that no other product reads.
bool can_smooth(const ModelConfig& config);

/// Returns s [H] from the largest magnitudes of activations and weights, both [H].
std::vector<float> smoothing_factors(std::span<const float> largest_x, std::span<const float> largest_weight, double alpha);

/// largest[j] = max(largest[j], |source[i, j]|) over the rows of a matrix [rows, H] of any floating type.
void raise_to_magnitudes(kernels::Backend& backend, const kernels::TensorView& source, std::span<float> largest);

}  // namespace lathe::engine
