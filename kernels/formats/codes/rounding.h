// SPDX-License-Identifier: Apache-2.0
// Rounding functions of the formats, on vectors of as many lanes as the file's instruction set has.
// Requires: no fused multiply-adds: they would round once where two roundings are defined.
#pragma once

#include <cstddef>
#include <cstdint>

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

/// Vector types of the compiler: arithmetic is done lane by lane, a comparison gives -1 or 0, and a ? b : c selects lanes.
template <int n>
struct VectorOf {
  typedef float Floats __attribute__((vector_size(4 * n)));
  typedef std::int32_t Ints __attribute__((vector_size(4 * n)));
  typedef std::uint8_t Bytes __attribute__((vector_size(n)));
};
using Floats = VectorOf<kLanes>::Floats;
using Ints = VectorOf<kLanes>::Ints;
using Bytes = VectorOf<kLanes>::Bytes;

template <class To, class From>
inline To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

/// Rounds to the nearest integer, ties to even: adding 1.5 * 2^23 pushes the fraction out of the mantissa. Requires: |x| <
/// 2^22.
template <class F>
inline F to_nearest(F x) {
  constexpr float kShift = 12582912.0F;
  return (x + kShift) - kShift;
}

/// Clamps x to [lowest, highest]; NaN becomes 0.
template <class F>
inline F bounded(F x, float lowest, float highest) {
  const F low = F{} + lowest, high = F{} + highest;
  const F inside = x < low ? low : x > high ? high : x;
  return x == x ? inside : F{};
}

/// Loads up to kLanes values; the remaining lanes are 0.
inline Floats load_some(const float* from, std::size_t n) {
  Floats x = {};
  __builtin_memcpy(&x, from, 4 * (n < kLanes ? n : kLanes));
  return x;
}

/// Minimum and maximum of some values and 0; NaN is ignored.
struct Extent {
  float least = 0, greatest = 0;
  float magnitude() const { return -least < greatest ? greatest : -least; }
};

/// Reduces a vector to one value. takes(a, b) is true where a replaces b.
template <int n, class Takes>
inline float folded(typename VectorOf<n>::Floats x, const Takes& takes) {
  if constexpr (n == 1) {
    return x[0];
  } else {
    typename VectorOf<n / 2>::Floats low, high;
    __builtin_memcpy(&low, &x, sizeof(low));
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&x) + sizeof(low), sizeof(high));
    return folded<n / 2>(takes(high, low) ? high : low, takes);
  }
}

inline Extent extent_of(const float* numbers, std::size_t n) {
  Floats least = {}, greatest = {};
  std::size_t i = 0;
  const auto take = [&](Floats x) {
    least = x < least ? x : least;
    greatest = x > greatest ? x : greatest;
  };
  for (; i + kLanes <= n; i += kLanes) take(load_some(numbers + i, kLanes));
  if (i < n) take(load_some(numbers + i, n - i));
  return {.least = folded<kLanes>(least, [](auto a, auto b) { return a < b; }),
          .greatest = folded<kLanes>(greatest, [](auto a, auto b) { return a > b; })};
}

/// Largest magnitude of some values; NaN is ignored, and 0 is the result if all are NaN.
inline float largest_magnitude(const float* numbers, std::size_t n) {
  Floats largest = {};
  const auto take = [&](Floats x) {
    const auto magnitude = bits_as<Floats>(bits_as<Ints>(x) & 0x7fffffff);
    largest = magnitude > largest ? magnitude : largest;
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) take(load_some(numbers + i, kLanes));
  if (i < n) take(load_some(numbers + i, n - i));
  return folded<kLanes>(largest, [](auto a, auto b) { return a > b; });
}

/// Nearest f16, as f32: f16_to_f32(f32_to_f16(x)), except that a NaN keeps its bits.
template <class F, class I>
inline F nearest_f16(F x) {
  const I bits = bits_as<I>(x);
  const I magnitude = bits & 0x7fffffff;
  // Below 2^-14 the result is a multiple of 2^-24: adding 0.5 leaves exactly those bits in the fraction.
  const I small = bits_as<I>((bits_as<F>(magnitude) + 0.5F) - 0.5F);
  const I rounded = (magnitude + 0xfff + ((magnitude >> 13) & 1)) & ~0x1fff;
  const I infinity = I{} + 0x7f800000;
  const I large = magnitude > infinity ? magnitude : infinity;
  const I finite = magnitude < 0x38800000 ? small : rounded;
  const I nearest = magnitude < 0x477ff000 ? finite : large;  // 65520 and above become infinity
  return bits_as<F>(nearest | (bits & static_cast<std::int32_t>(0x80000000U)));
}
inline float nearest_f16(float x) { return nearest_f16<float, std::int32_t>(x); }
inline Floats nearest_f16(Floats x) { return nearest_f16<Floats, Ints>(x); }

/// codes[i] = code_of(weights[i]), integers from 0 to 255. code_of maps Floats to Ints.
template <class CodeOf>
inline void encode_each(const float* weights, std::size_t n, std::uint8_t* codes, const CodeOf& code_of) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Bytes some = __builtin_convertvector(code_of(load_some(weights + i, kLanes)), Bytes);
    __builtin_memcpy(codes + i, &some, sizeof(some));
  }
  if (i == n) return;
  const Bytes rest = __builtin_convertvector(code_of(load_some(weights + i, n - i)), Bytes);
  __builtin_memcpy(codes + i, &rest, n - i);
}

}  // namespace
}  // namespace lathe::kernels
