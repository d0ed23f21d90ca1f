// SPDX-License-Identifier: Apache-2.0
// Activation functions of an MLP. Equations: Activation in kernels/api/backend.h.
#pragma once

#include "kernels/api/backend.h"

namespace lathe::kernels::cuda {

__device__ inline float activated(float x, Activation activation) {
  constexpr float kSwigluAlpha = 1.702F, kSwigluLimit = 7;
  switch (activation) {
    case Activation::silu: return x / (1 + expf(-x));
    case Activation::gelu: return 0.5F * x * (1 + erff(x * 0.70710678118654752F));
    case Activation::gelu_tanh: return 0.5F * x * (1 + tanhf(0.79788456080286536F * (x + 0.044715F * x * x * x)));
    case Activation::relu: return fmaxf(x, 0);
    case Activation::relu_squared: return fmaxf(x, 0) * fmaxf(x, 0);
    case Activation::clamped_silu: {
      const float y = fminf(x, kSwigluLimit);
      return y / (1 + expf(-kSwigluAlpha * y));
    }
  }
  return x;
}

/// Transforms the output of `up` before it is multiplied with the activated gate: clamped_silu clamps it and adds 1.
__device__ inline float gated(float up, Activation activation) {
  constexpr float kSwigluLimit = 7;
  return activation == Activation::clamped_silu ? fminf(fmaxf(up, -kSwigluLimit), kSwigluLimit) + 1 : up;
}

}  // namespace lathe::kernels::cuda
