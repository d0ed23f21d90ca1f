// SPDX-License-Identifier: Apache-2.0
// Functions on heads and rows that kernels of the fake device share, so that one kernel gives the bits of several.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/ops/ops.h"
#include "tests/support/fake_cuda/fake_device.h"

namespace lathe::tests {

inline float clamped(float x, float limit) { return x < -limit ? -limit : x > limit ? limit : x; }

/// Normalises n elements, in place or not.
inline void normalise(float* to, const float* from, std::int64_t n, const kernels::cuda::NormRows& norm,
                      std::int64_t first_weight) {
  const float* const weight = FakeDevice::elements(norm.weight + first_weight, n);
  const float* const bias = norm.bias != nullptr ? FakeDevice::elements(norm.bias + first_weight, n) : nullptr;
  double mean = 0, squares = 0;
  if (norm.kind == kernels::NormKind::layer) {
    for (std::int64_t i = 0; i < n; ++i) mean += static_cast<double>(from[i]);
    mean /= static_cast<double>(n);
  }
  for (std::int64_t i = 0; i < n; ++i) squares += std::pow(static_cast<double>(from[i]) - mean, 2);
  const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(norm.eps));
  for (std::int64_t i = 0; i < n; ++i) {
    const double number = (static_cast<double>(from[i]) - mean) * factor * static_cast<double>(weight[i]);
    to[i] = static_cast<float>(number + (bias != nullptr ? static_cast<double>(bias[i]) : 0));
  }
}

/// Rotates a head by the angles of a position.
inline void rotate(float* head, const kernels::cuda::RopeRows& rope, std::int64_t position) {
  const std::int64_t half = rope.cos.n_columns;
  const float* const cos = FakeDevice::elements(rope.cos.data + position * rope.cos.stride, half);
  const float* const sin = FakeDevice::elements(rope.sin.data + position * rope.sin.stride, half);
  for (std::int64_t i = 0; i < half; ++i) {
    const bool is_half = rope.style == kernels::RopeStyle::half;
    float& a = is_half ? head[i] : head[2 * i];
    float& b = is_half ? head[i + half] : head[2 * i + 1];
    const float turned_a = std::fma(a, cos[i], -(b * sin[i])), turned_b = std::fma(b, cos[i], a * sin[i]);
    a = turned_a;
    b = turned_b;
  }
}

}  // namespace lathe::tests
