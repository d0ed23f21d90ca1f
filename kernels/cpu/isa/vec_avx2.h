// SPDX-License-Identifier: Apache-2.0
// VecAvx2: the vector operations with which the ops are written, on 8 floats. Only for files compiled for AVX2, FMA and
// F16C.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/cpu/table/element_types.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

struct VecAvx2 {
  using Float = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRegisters = 16;

  static __m256i first(std::int64_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n > kLanes ? kLanes : static_cast<int>(n)), lane);
  }

  static Float zero() { return _mm256_setzero_ps(); }
  static Float set(float value) { return _mm256_set1_ps(value); }
  static Float load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Float x) { _mm256_storeu_ps(p, x); }
  /// Loads the first n lanes; the others are 0 and their memory is not touched.
  static Float load_n(const float* p, std::int64_t n) { return _mm256_maskload_ps(p, first(n)); }
  static void store_n(float* p, Float x, std::int64_t n) { _mm256_maskstore_ps(p, first(n), x); }

  static Float load(const F16* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Float load(const Bf16* p) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Float load(const RawE4m3* p) {
    const __m128i wide = _mm_slli_epi16(_mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))), 7);
    return _mm256_cvtph_ps(_mm_and_si128(wide, _mm_set1_epi16(static_cast<short>(0xbf80))));
  }
  static Float load_n(const F16* p, std::int64_t n) { return _mm256_cvtph_ps(load_halves(p, n)); }
  static Float load_n(const Bf16* p, std::int64_t n) { return widen(load_halves(p, n)); }
  static Float load(const I8* p) { return widen(p, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))); }
  static Float load(const E4m3* p) { return widen(p, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))); }
  static Float load(const E5m2* p) { return widen(p, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))); }
  static Float load_n(const I8* p, std::int64_t n) { return widen(p, load_bytes(p, n)); }
  static Float load_n(const E4m3* p, std::int64_t n) { return widen(p, load_bytes(p, n)); }
  static Float load_n(const E5m2* p, std::int64_t n) { return widen(p, load_bytes(p, n)); }
  /// Loads 8 pairs: the first element of each into `even`, the second into `odd`.
  static void load_pairs(const Bf16* p, Float& even, Float& odd) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    even = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
    odd = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
  }

  template <class T>
  static Float load_n(const T* p, AllLanes) {
    return load(p);
  }
  static void store_n(float* p, Float x, AllLanes) { store(p, x); }

  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float div(Float a, Float b) { return _mm256_div_ps(a, b); }
  /// a * b + c
  static Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  /// acc = a * b + acc, in the register of acc. Otherwise gcc 12 moves sums between registers and moves them back at the end
  /// of the loop, on the ports that multiply: 12 x 32 tiles then reach 88 % of the peak.
  static void accumulate(Float& acc, Float a, Float b) { asm("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b)); }
  /// c - a * b
  static Float fnma(Float a, Float b, Float c) { return _mm256_fnmadd_ps(a, b, c); }
  /// Maximum; a NaN in b is kept.
  static Float max(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float min(Float a, Float b) { return _mm256_min_ps(a, b); }
  static Float round(Float x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// x * 2^n for integers n in [-126, 127].
  static Float scale_by_power_of_2(Float x, Float n) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(exponent));
  }
  /// a < b ? 0 : x
  static Float zero_where_less(Float a, Float b, Float x) { return _mm256_andnot_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), x); }
  /// a < b ? x : otherwise
  static Float select_less(Float a, Float b, Float x, Float otherwise) {
    return _mm256_blendv_ps(otherwise, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static Float keep_first(std::int64_t n, Float x, Float otherwise) {
    return _mm256_blendv_ps(otherwise, x, _mm256_castsi256_ps(first(n)));
  }

  static float sum(Float x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static float largest(Float x) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }

  // ---- 8 integers of 32 bits, or the bytes that they consist of
  using Int = __m256i;
  static Int zero_int() { return _mm256_setzero_si256(); }
  static Int set_int(std::int32_t value) { return _mm256_set1_epi32(value); }
  static Int load_int(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store_int(std::byte* p, Int x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  /// Keeps x in its register: gcc 12 would load codes again for each row.
  static void hold(Int& x) { asm("" : "+x"(x)); }
  /// Stores the nearest integers as signed bytes. Requires: they fit.
  static void store_codes(std::byte* p, Float x) {
    const Int whole = _mm256_cvtps_epi32(x);
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(halves, halves));
  }
  static Int add_int(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Float to_float(Int x) { return _mm256_cvtepi32_ps(x); }
  static Int low_nibbles(Int x) { return _mm256_and_si256(x, _mm256_set1_epi8(0x0f)); }
  static Int high_nibbles(Int x) { return low_nibbles(_mm256_srli_epi16(x, 4)); }
  /// table[byte] for each byte of x, all below 16.
  static Int look_up(const std::uint8_t (&table)[16], Int x) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), x);
  }
  /// table[byte] for 8 bytes.
  static Float look_up(const float* table, const std::byte* bytes) {
    const __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
    return _mm256_i32gather_ps(table, places, sizeof(float));
  }
  static Int shift_right(Int x, int n) { return reinterpret_cast<Int>(reinterpret_cast<__v8su>(x) >> n); }
  /// table[i], i being the low 4 bits of each lane.
  static Float pick(const float (&table)[16], Int x) {
    const Float low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), x);
    const Float high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), x);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(x, 28)));
  }
  /// Byte i of each lane, as a float.
  static Float byte_to_float(Int x, std::int64_t i) {
    const __m256i shifted = _mm256_srl_epi32(x, _mm_cvtsi64_si128(8 * i));
    return _mm256_cvtepi32_ps(_mm256_and_si256(shifted, _mm256_set1_epi32(0xff)));
  }
  static Int even_bytes(Int x) { return _mm256_and_si256(x, _mm256_set1_epi16(0xff)); }
  static Int odd_bytes(Int x) { return _mm256_srli_epi16(x, 8); }
  /// Sums of neighbouring products of 16-bit integers.
  static Int multiply_halves(Int a, Int b) { return _mm256_madd_epi16(a, b); }
  /// acc += multiply_halves(a, b), in registers as accumulate(): gcc 12 multiplies far ahead of the sums and keeps products
  /// in memory, and a tile of 4 rows by 16 columns then takes 1.25 times as long.
  static void accumulate_halves(Int& acc, Int a, Int b) {
    Int product;
    asm("vpmaddwd %3, %2, %0\n\tvpaddd %0, %1, %1" : "=&x"(product), "+x"(acc) : "x"(a), "x"(b));
  }
  /// acc += sums of neighbouring products of unsigned and signed bytes, in 16 bits: sums of two products saturate, acc wraps
  /// around.
  static void accumulate_bytes(Int& acc, Int a, Int b) {
    Int product;
    asm("vpmaddubsw %3, %2, %0\n\tvpaddw %0, %1, %1" : "=&x"(product), "+x"(acc) : "x"(a), "x"(b));
  }
  static Int ones() { return _mm256_set1_epi16(1); }

 private:
  static Float widen(const I8*, __m128i codes) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)); }
  /// Widens through f16 with the same exponent bits, whose values are 2^8 times smaller there.
  static Float widen(const E4m3*, __m128i bits) {
    const __m128i wide = _mm_cvtepi8_epi16(bits);  // all upper bits are copies of the sign
    const __m128i half = _mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(static_cast<short>(0xbfff)));
    const __m256i magnitude = _mm256_and_si256(_mm256_cvtepu8_epi32(bits), _mm256_set1_epi32(0x7f));
    const __m256i is_nan = _mm256_cmpeq_epi32(magnitude, _mm256_set1_epi32(0x7f));
    return _mm256_or_ps(_mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256)), _mm256_castsi256_ps(is_nan));
  }
  static Float widen(const E5m2*, __m128i bits) { return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(bits), 8)); }
  static Float widen(__m128i bits) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)); }
  static __m128i load_halves(const void* p, std::int64_t n) {
    if (n >= kLanes) return _mm_loadu_si128(static_cast<const __m128i*>(p));
    alignas(16) std::uint16_t halves[kLanes] = {};
    for (std::int64_t i = 0; i < n; ++i) halves[i] = static_cast<const std::uint16_t*>(p)[i];
    return _mm_load_si128(reinterpret_cast<const __m128i*>(halves));
  }
  static __m128i load_bytes(const void* p, std::int64_t n) {
    if (n >= kLanes) return _mm_loadl_epi64(static_cast<const __m128i*>(p));
    std::uint64_t bytes = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      bytes |= static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(p)[i]) << (8 * i);
    }
    return _mm_cvtsi64_si128(static_cast<long long>(bytes));
  }
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
