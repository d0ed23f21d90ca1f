// SPDX-License-Identifier: Apache-2.0
// Sums over the elements of a row, in the same order on every instruction set: element i is added to sum i % 16, and halves
// of the sums are added until one sum is left. So a row's sum has the same bits whatever the number of lanes of a vector.
#pragma once

#include <cstdint>

namespace lathe::kernels {
namespace {

constexpr int kSumLanes = 16;  // most lanes of a vector

/// 16 sums in vectors.
template <class V>
struct LaneSums {
  static constexpr int kVectors = kSumLanes / V::kLanes;
  typename V::Float sums[kVectors];

  LaneSums() {
#pragma GCC unroll 16
    for (auto& sum : sums) sum = V::zero();
  }

  /// Adds the squares of 16 elements.
  [[gnu::always_inline]] void add_squares(const float* x) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      const auto v = V::load(x + j * V::kLanes);
      sums[j] = V::fma(v, v, sums[j]);
    }
  }
  /// Adds the squares of fewer than 16 elements.
  void add_squares(const float* x, std::int64_t n) {
    for (int j = 0; j < kVectors; ++j) {
      const auto v = V::load_n(x + j * V::kLanes, n - j * V::kLanes);
      sums[j] = V::fma(v, v, sums[j]);
    }
  }
  void add(const float* x, std::int64_t n) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) sums[j] = V::add(sums[j], V::load_n(x + j * V::kLanes, n - j * V::kLanes));
  }
  void add(const LaneSums& other) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) sums[j] = V::add(sums[j], other.sums[j]);
  }

  /// Adds all 16 sums. Overwrites them.
  float total() {
    for (int n = kVectors / 2; n > 0; n /= 2) {
      for (int j = 0; j < n; ++j) sums[j] = V::add(sums[j], sums[j + n]);
    }
    return V::sum(sums[0]);
  }
};

}  // namespace
}  // namespace lathe::kernels
