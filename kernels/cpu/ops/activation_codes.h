// SPDX-License-Identifier: Apache-2.0
// How activations become signed bytes: what shares a scale, and what is left out.
#pragma once

#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/coded_layout.h"

namespace lathe::kernels {
namespace {

// Numbers all below it become zeros: 127 or 448 divided by less would be infinite.
constexpr float kSmallestActivation = 0x1p-100F;
// LLM.int8(): from here on activations are multiplied as they are; those of a row, for columns are of all (kernels/README).
constexpr float kOutlier = 6.0F;
constexpr float kLargestInlier = 0x1.7ffffep+2F;  // the number before it

/// A code is round(x * to_code), and stands for code * scale.
struct Rounding {
  float to_code;
  float scale;
};

/// Outliers become zeros; NaN stays.
template <class V, bool kLeavesOut>
typename V::Float inliers(typename V::Float x) {
  if constexpr (kLeavesOut) {
    return V::zero_where_less(V::set(kLargestInlier), V::max(x, V::sub(V::zero(), x)), x);
  } else {
    return x;
  }
}

/// So that the largest of n numbers becomes kMost. One that is no number makes the scale none, and all codes zeros.
template <class V, bool kLeavesOut, int kMost = 127>
Rounding rounding_of(const float* x, std::int64_t n) {
  auto largest = V::zero();
  auto poison = V::zero();
  for (std::int64_t i = 0; i < n; i += V::kLanes) {
    const auto value = inliers<V, kLeavesOut>(V::load_n(x + i, n - i));
    largest = V::max(V::max(value, V::sub(V::zero(), value)), largest);
    poison = V::fma(value, V::zero(), poison);
  }
  if (V::sum(poison) != 0) return {.to_code = 0, .scale = V::sum(poison)};
  const float magnitude = V::largest(largest);
  return {.to_code = magnitude > kSmallestActivation ? kMost / magnitude : 0, .scale = magnitude / kMost};
}

/// Codes of up to a block; zeros follow.
template <class V, bool kLeavesOut>
void round_block(const float* x, std::int64_t n, float to_code, std::byte* codes) {
  if (to_code == 0) {
    __builtin_memset(codes, 0, kActivationBlock);
    return;
  }
  for (std::int64_t i = 0; i < kActivationBlock; i += V::kLanes) {
    V::store_codes(codes + i, V::mul(inliers<V, kLeavesOut>(V::load_n(x + i, n - i)), V::set(to_code)));
  }
}

/// A scale for each row and block.
template <class V>
struct BlockActivations {
  static constexpr bool kWholeRows = false;
  static constexpr bool kHasOutliers = false;
  struct OfRow {};
  static OfRow of_row(const float*, std::int64_t) { return {}; }
  static Rounding of_block(OfRow, const float* x, std::int64_t n) { return rounding_of<V, false>(x, n); }
};

/// A scale for each row; without its outliers, if they are multiplied as they are.
template <class V, bool kLeavesOut>
struct RowActivations {
  static constexpr bool kWholeRows = true;
  static constexpr bool kHasOutliers = kLeavesOut;
  using OfRow = Rounding;
  static OfRow of_row(const float* x, std::int64_t n) { return rounding_of<V, kLeavesOut>(x, n); }
  static Rounding of_block(const OfRow& row, const float*, std::int64_t) { return row; }

  static void collect(const float* x, std::int64_t n, Outliers* out) {
    out->n = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      if (x[k] >= kOutlier || x[k] <= -kOutlier) out->list[out->n++] = {k, x[k]};
    }
  }
};

}  // namespace
}  // namespace lathe::kernels
