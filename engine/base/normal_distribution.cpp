// SPDX-License-Identifier: Apache-2.0
#include "engine/base/normal_distribution.h"

#include <cmath>
#include <numbers>

namespace lathe::engine {

double normal_probability(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

double normal_quantile(double p) {
  constexpr double kFar = 40;  // standard deviations
  double low = -kFar, high = kFar;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (normal_probability(middle) < p ? low : high) = middle;
  }
  return low;
}

}  // namespace lathe::engine
