// SPDX-License-Identifier: Apache-2.0
// Rounds activations to signed bytes or e4m3: which activations share a scale, and which are left out.
#pragma once

#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/coded_layout.h"

namespace lathe::kernels {
namespace {

// Least magnitude for which codes are computed; a group of smaller values becomes zeros, because 127 or 448 divided by a
// smaller magnitude would be infinite.
constexpr float kSmallestActivation = 0x1p-100F;
// LLM.int8(): activations of this magnitude and more are not rounded. Each row leaves out its own outliers; the bitsandbytes
// package leaves out whole columns of all rows of a batch (kernels/README.md).
constexpr float kOutlier = 6.0F;
constexpr float kLargestInlier = 0x1.7ffffep+2F;  // largest f32 below kOutlier

/// A code is round(x * to_code) and represents code * scale.
struct Rounding {
  float to_code;
  float scale;
};

/// Replaces outliers with zeros; NaN stays.
template <class V, bool kLeavesOut>
typename V::Float inliers(typename V::Float x) {
  if constexpr (kLeavesOut) {
    return V::zero_where_less(V::set(kLargestInlier), V::max(x, V::sub(V::zero(), x)), x);
  } else {
    return x;
  }
}

/// Rounding with which the largest magnitude of n values becomes kMost. If one of the rounded values is NaN or infinite, the
/// scale is NaN and all codes are zeros.
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

/// Writes the codes of up to a block of values; zeros follow.
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

/// One scale per row and block.
template <class V>
struct BlockActivations {
  static constexpr bool kWholeRows = false;
  static constexpr bool kHasOutliers = false;
  struct OfRow {};
  static OfRow of_row(const float*, std::int64_t) { return {}; }
  static Rounding of_block(OfRow, const float* x, std::int64_t n) { return rounding_of<V, false>(x, n); }
};

/// One scale per row, computed without its outliers if kLeavesOut.
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
