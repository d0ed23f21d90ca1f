// SPDX-License-Identifier: Apache-2.0
// Vector functions exp, tanh and erf and the activations built from them, and the few scalar functions that per-ISA files
// may use.
#pragma once

#include <cstdint>

namespace lathe::kernels {

inline constexpr std::int64_t kCacheLine = 64;  // bytes

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
    // ln 2 is split into two parts, the first with so few bits that its product with n is exact.
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

  /// tanh(x) within 4e-7: below 0.55 by its Taylor series to x^13, above by exp.
  static Float tanh(Float x) {
    const Float square = V::mul(x, x);
    Float p = V::set(21844.0F / 6081075);
    p = V::fma(p, square, V::set(-1382.0F / 155925));
    p = V::fma(p, square, V::set(62.0F / 2835));
    p = V::fma(p, square, V::set(-17.0F / 315));
    p = V::fma(p, square, V::set(2.0F / 15));
    p = V::fma(p, square, V::set(-1.0F / 3));
    const Float small = V::fma(V::mul(p, square), x, x);
    const Float one = V::set(1.0F), two = V::set(2.0F);
    const Float large = V::sub(one, V::div(two, V::add(exp(V::mul(two, x)), one)));
    return V::select_less(square, V::set(0.3025F), small, large);
  }

  /// erf(x) within 3e-7. Source: Abramowitz and Stegun 1964, 7.1.26; their bound is 1.5e-7 in exact arithmetic.
  static Float erf(Float x) {
    const Float one = V::set(1.0F), zero = V::zero();
    const Float magnitude = V::max(V::sub(zero, x), x);
    const Float t = V::div(one, V::fma(magnitude, V::set(0.3275911F), one));
    Float p = V::set(1.061405429F);
    p = V::fma(p, t, V::set(-1.453152027F));
    p = V::fma(p, t, V::set(1.421413741F));
    p = V::fma(p, t, V::set(-0.284496736F));
    p = V::fma(p, t, V::set(0.254829592F));
    const Float tail = V::mul(V::mul(p, t), exp(V::sub(zero, V::mul(x, x))));
    const Float y = V::sub(one, tail);
    return V::select_less(x, zero, V::sub(zero, y), y);
  }

  /// x * (1 + erf(x / sqrt 2)) / 2
  static Float gelu(Float x) {
    const Float half = V::mul(x, V::set(0.5F));
    return V::fma(half, erf(V::mul(x, V::set(0.70710678F))), half);
  }

  /// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2. Source: Hendrycks and Gimpel 2016.
  static Float gelu_tanh(Float x) {
    const Float half = V::mul(x, V::set(0.5F));
    const Float cube = V::mul(V::mul(x, x), x);
    return V::fma(half, tanh(V::mul(V::set(0.79788456F), V::fma(cube, V::set(0.044715F), x))), half);
  }

  static Float silu(Float x) {
    const Float one = V::set(1.0F);
    return V::div(x, V::add(one, exp(V::sub(V::zero(), x))));
  }
};

}  // namespace
}  // namespace lathe::kernels
