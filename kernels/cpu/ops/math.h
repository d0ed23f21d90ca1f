// SPDX-License-Identifier: Apache-2.0
// exp and silu on vectors, and the few scalar functions that per-ISA files may use.
#pragma once

#include <cstdint>

namespace lathe::kernels {
namespace {

[[maybe_unused]] constexpr std::int64_t min_of(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
[[maybe_unused]] constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class V>
struct Math {
  using Float = typename V::Float;

  /// exp(x) within 2 ulp; exactly 1 at 0; 0 below -87.33 (the smallest normal result); at most exp(88).
  /// x = n ln 2 + r with |r| <= ln 2 / 2, exp(r) by its Taylor series to r^7 (next term < 6e-9).
  static Float exp(Float x) {
    const Float lowest = V::set(-87.33F);
    const Float bounded = V::min(V::set(88.0F), V::max(lowest, x));
    const Float n = V::round(V::mul(bounded, V::set(1.44269504F)));
    // ln 2 in two parts, the first with few enough bits that n times it is exact.
    Float r = V::fnma(n, V::set(0.693359375F), bounded);
    r = V::fnma(n, V::set(-2.12194440e-4F), r);
    Float p = V::set(1.0F / 5040);
    p = V::fma(p, r, V::set(1.0F / 720));
    p = V::fma(p, r, V::set(1.0F / 120));
    p = V::fma(p, r, V::set(1.0F / 24));
    p = V::fma(p, r, V::set(1.0F / 6));
    p = V::fma(p, r, V::set(0.5F));
    p = V::fma(p, r, V::set(1.0F));
    p = V::fma(p, r, V::set(1.0F));
    return V::zero_where_less(x, lowest, V::scale_by_power_of_2(p, n));
  }

  static Float silu(Float x) {
    const Float one = V::set(1.0F);
    return V::div(x, V::add(one, exp(V::sub(V::zero(), x))));
  }
};

}  // namespace
}  // namespace lathe::kernels
