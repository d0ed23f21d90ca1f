// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/length_draw.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lathe::app {
namespace {

/// Draws from 0 to 1, 1 excluded.
double unit_draw(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// Box-Muller transform, since std::normal_distribution differs between standard libraries.
double normal_draw(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - unit_draw(random)));
  return radius * std::cos(2 * std::numbers::pi * unit_draw(random));
}

}  // namespace

std::int64_t uniform_length(std::int64_t mean, double spread, std::mt19937_64& random) {
  const auto far = static_cast<std::int64_t>(spread * static_cast<double>(mean));
  return std::max<std::int64_t>(1, std::uniform_int_distribution<std::int64_t>(mean - far, mean + far)(random));
}

std::int64_t lognormal_length(std::int64_t mean, double variation, std::mt19937_64& random) {
  // Lengths exp(mu + sigma z) with a normal z have the mean exp(mu + sigma^2 / 2), and the square of their coefficient of
  // variation is exp(sigma^2) - 1. So sigma^2 = ln(1 + variation^2), and mu = ln(mean) - sigma^2 / 2.
  const double sigma_squared = std::log1p(variation * variation);
  const double mu = std::log(static_cast<double>(mean)) - sigma_squared / 2;
  const double length = std::exp(mu + std::sqrt(sigma_squared) * normal_draw(random));
  return std::llround(std::clamp(length, 1.0, static_cast<double>(kLongestDraw)));
}

}  // namespace lathe::app
