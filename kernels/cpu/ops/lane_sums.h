// SPDX-License-Identifier: Apache-2.0
// Sums over the numbers of a row, in one order on every instruction set: number i goes to sum i % 16, and halves of the sums
// are added until one is left. So a row has the same sum in every bit whatever the lanes of a vector.
#pragma once

#include <cstdint>

namespace lathe::kernels {
namespace {

constexpr int kSumLanes = 16;  // the most that a vector has

/// 16 sums side by side.
template <class V>
struct LaneSums {
  static constexpr int kVectors = kSumLanes / V::kLanes;
  typename V::Float sums[kVectors];

  LaneSums() {
#pragma GCC unroll 16
    for (auto& sum : sums) sum = V::zero();
  }

  /// Adds squares of 16 numbers.
  [[gnu::always_inline]] void add_squares(const float* x) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      const auto v = V::load(x + j * V::kLanes);
      sums[j] = V::fma(v, v, sums[j]);
    }
  }
  /// Of fewer than 16.
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

  /// The sums are used up.
  float total() {
    for (int n = kVectors / 2; n > 0; n /= 2) {
      for (int j = 0; j < n; ++j) sums[j] = V::add(sums[j], sums[j + n]);
    }
    return V::sum(sums[0]);
  }
};

}  // namespace
}  // namespace lathe::kernels
