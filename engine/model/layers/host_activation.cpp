// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/host_activation.h"

#include <cmath>
#include <numbers>

namespace lathe::engine {

float activated(kernels::Activation activation, float x) {
  const double wide = x;
  switch (activation) {
    case kernels::Activation::silu: return static_cast<float>(wide / (1 + std::exp(-wide)));
    case kernels::Activation::gelu: return static_cast<float>(wide * std::erfc(-wide * std::numbers::sqrt2 / 2) / 2);
    case kernels::Activation::gelu_tanh: {
      const double inner = std::sqrt(2 * std::numbers::inv_pi) * (wide + 0.044715 * wide * wide * wide);
      return static_cast<float>(wide * (1 + std::tanh(inner)) / 2);
    }
    case kernels::Activation::relu: return x > 0 ? x : 0;
    case kernels::Activation::clamped_silu: break;
  }
  LATHE_CHECK(false);
  return 0;
}

}  // namespace lathe::engine
