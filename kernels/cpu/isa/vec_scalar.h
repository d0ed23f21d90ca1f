// SPDX-License-Identifier: Apache-2.0
// VecScalar: the vector operations with which the ops are written, on one float. Runs on any x86-64, unless kFuses.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/api/dtype.h"
#include "kernels/cpu/table/element_types.h"

namespace lathe::kernels {
namespace {

/// kFuses: multiply-adds are rounded once, as in vectors. Only for files compiled for FMA.
template <bool kFuses>
struct VecScalar {
  using Float = float;
  static constexpr int kLanes = 1;
  static constexpr int kRegisters = 16;

  static Float zero() { return 0; }
  static Float set(float value) { return value; }
  static Float load(const float* p) { return *p; }
  static void store(float* p, Float x) { *p = x; }
  static Float load_n(const float* p, std::int64_t n) { return n > 0 ? *p : 0; }
  static void store_n(float* p, Float x, std::int64_t n) {
    if (n > 0) *p = x;
  }

  static Float load(const F16* p) { return f16_to_f32(p->bits); }
  static Float load(const Bf16* p) { return from_bits(static_cast<std::uint32_t>(p->bits) << 16); }
  static Float load(const I8* p) { return p->code; }
  static Float load(const E4m3* p) { return e4m3_to_f32(p->bits); }
  static Float load(const E5m2* p) { return e5m2_to_f32(p->bits); }
  static Float load(const RawE4m3* p) {
    return f16_to_f32(static_cast<std::uint16_t>((p->bits & 0x80U) << 8 | (p->bits & 0x7fU) << 7));
  }
  template <class T>
  static Float load_n(const T* p, std::int64_t n) {
    return n > 0 ? load(p) : 0;
  }
  static void load_pairs(const Bf16* p, Float& even, Float& odd) {
    even = load(p);
    odd = load(p + 1);
  }

  template <class T>
  static Float load_n(const T* p, AllLanes) {
    return load(p);
  }
  static void store_n(float* p, Float x, AllLanes) { store(p, x); }

  static Float add(Float a, Float b) { return a + b; }
  static Float sub(Float a, Float b) { return a - b; }
  static Float mul(Float a, Float b) { return a * b; }
  static Float div(Float a, Float b) { return a / b; }
  /// a * b + c
  static Float fma(Float a, Float b, Float c) {
    if constexpr (kFuses) {
      return __builtin_fmaf(a, b, c);
    } else {
      return a * b + c;
    }
  }
  static void accumulate(Float& acc, Float a, Float b) { acc = fma(a, b, acc); }
  static Float fnma(Float a, Float b, Float c) { return fma(-a, b, c); }
  static Float max(Float a, Float b) { return a > b ? a : b; }
  static Float min(Float a, Float b) { return a < b ? a : b; }
  static Float round(Float x) {
    // Adding 1.5 * 2^23 pushes the fraction out of the mantissa; exact for |x| < 2^22, which exceeds what exp() needs.
    const volatile float shifted = x + 12582912.0F;
    return shifted - 12582912.0F;
  }
  static Float scale_by_power_of_2(Float x, Float n) {
    const int exponent = n >= -126 && n <= 127 ? static_cast<int>(n) : 0;  // a NaN cannot be converted to an integer
    return x * from_bits(static_cast<std::uint32_t>(exponent + 127) << 23);
  }
  static Float zero_where_less(Float a, Float b, Float x) { return a < b ? 0 : x; }
  /// a < b ? x : otherwise
  static Float select_less(Float a, Float b, Float x, Float otherwise) { return a < b ? x : otherwise; }
  static Float keep_first(std::int64_t n, Float x, Float otherwise) { return n > 0 ? x : otherwise; }

  static float sum(Float x) { return x; }
  static float largest(Float x) { return x; }

  // ---- integers of 32 bits: four bytes, or the sum of their products
  using Int = std::int32_t;
  static Int zero_int() { return 0; }
  static Int set_int(std::int32_t value) { return value; }
  static Int load_int(const std::byte* p) {
    Int value = 0;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  static void store_int(std::byte* p, Int x) { std::memcpy(p, &x, sizeof x); }
  static void hold(Int&) {}
  static void store_codes(std::byte* p, Float x) { *p = static_cast<std::byte>(static_cast<int>(round(x))); }
  static Int add_int(Int a, Int b) { return a + b; }
  static Float to_float(Int x) { return static_cast<float>(x); }
  static Int low_nibbles(Int x) { return x & 0x0f0f0f0f; }
  static Int high_nibbles(Int x) { return low_nibbles(x >> 4); }
  static Int look_up(const std::uint8_t (&table)[16], Int x) {
    std::uint32_t found = 0;
    for (int i = 0; i < 4; ++i) found |= static_cast<std::uint32_t>(table[(x >> (8 * i)) & 0xff]) << (8 * i);
    return static_cast<Int>(found);
  }
  static Float look_up(const float* table, const std::byte* bytes) { return table[static_cast<int>(bytes[0])]; }
  static Int shift_right(Int x, int n) { return static_cast<Int>(static_cast<std::uint32_t>(x) >> n); }
  static Float pick(const float (&table)[16], Int x) { return table[x & 15]; }
  static Float byte_to_float(Int x, std::int64_t i) { return static_cast<float>((x >> (8 * i)) & 0xff); }

 private:
  static float from_bits(std::uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

}  // namespace
}  // namespace lathe::kernels
