// SPDX-License-Identifier: Apache-2.0
// Activation functions of the fake kernels. Equations: Activation in kernels/api/backend.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/api/backend.h"

namespace lathe::tests {

inline float activated(float x, kernels::Activation activation) {
  switch (activation) {
    case kernels::Activation::silu: return x / (1 + std::exp(-x));
    case kernels::Activation::gelu: return 0.5F * x * (1 + std::erf(x * 0.70710678F));
    case kernels::Activation::gelu_tanh: return 0.5F * x * (1 + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
    case kernels::Activation::relu: return std::max(x, 0.0F);
    case kernels::Activation::relu_squared: return std::max(x, 0.0F) * std::max(x, 0.0F);
    case kernels::Activation::clamped_silu: {
      const float y = std::min(x, 7.0F);
      return y / (1 + std::exp(-1.702F * y));
    }
  }
  return x;
}

inline float gated(float up, kernels::Activation activation) {
  return activation == kernels::Activation::clamped_silu ? std::clamp(up, -7.0F, 7.0F) + 1 : up;
}

}  // namespace lathe::tests
