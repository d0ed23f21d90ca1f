// SPDX-License-Identifier: Apache-2.0
// VecAvx512: the vector operations with which the ops are written, on 16 floats. Only for files compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/cpu/table/element_types.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

struct VecAvx512 {
  using Float = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kRegisters = 32;

  static __mmask16 first(std::int64_t n) { return n >= 16 ? 0xffff : static_cast<__mmask16>((1U << (n < 0 ? 0 : n)) - 1); }

  static Float zero() { return _mm512_setzero_ps(); }
  static Float set(float value) { return _mm512_set1_ps(value); }
  static Float load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Float x) { _mm512_storeu_ps(p, x); }
  /// Loads the first n lanes; the others are 0 and their memory is not touched.
  static Float load_n(const float* p, std::int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static void store_n(float* p, Float x, std::int64_t n) { _mm512_mask_storeu_ps(p, first(n), x); }

  static Float load(const F16* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static Float load(const Bf16* p) { return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static Float load(const RawE4m3* p) {
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 7);
    return _mm512_cvtph_ps(_mm256_and_si256(wide, _mm256_set1_epi16(static_cast<short>(0xbf80))));
  }
  static Float load_n(const F16* p, std::int64_t n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), p)); }
  static Float load_n(const Bf16* p, std::int64_t n) { return widen(_mm256_maskz_loadu_epi16(first(n), p)); }
  static Float load(const I8* p) { return widen(p, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Float load(const E4m3* p) { return widen(p, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Float load(const E5m2* p) { return widen(p, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static Float load_n(const I8* p, std::int64_t n) { return widen(p, _mm_maskz_loadu_epi8(first(n), p)); }
  static Float load_n(const E4m3* p, std::int64_t n) { return widen(p, _mm_maskz_loadu_epi8(first(n), p)); }
  static Float load_n(const E5m2* p, std::int64_t n) { return widen(p, _mm_maskz_loadu_epi8(first(n), p)); }
  /// Loads 16 pairs: the first element of each into `even`, the second into `odd`.
  static void load_pairs(const Bf16* p, Float& even, Float& odd) {
    const __m512i both = _mm512_loadu_si512(p);
    even = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
  }

  template <class T>
  static Float load_n(const T* p, AllLanes) {
    return load(p);
  }
  static void store_n(float* p, Float x, AllLanes) { store(p, x); }

  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float div(Float a, Float b) { return _mm512_div_ps(a, b); }
  /// a * b + c
  static Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  /// acc = a * b + acc, in the register of acc. Otherwise gcc 12 moves sums between registers and moves them back at the end
  /// of the loop, on the ports that multiply: 12 x 32 tiles then reach 88 % of the peak.
  static void accumulate(Float& acc, Float a, Float b) { asm("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b)); }
  /// c - a * b
  static Float fnma(Float a, Float b, Float c) { return _mm512_fnmadd_ps(a, b, c); }
  /// Maximum; a NaN in b is kept.
  static Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float min(Float a, Float b) { return _mm512_min_ps(a, b); }
  static Float round(Float x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// x * 2^n for integers n in [-126, 127].
  static Float scale_by_power_of_2(Float x, Float n) { return _mm512_scalef_ps(x, n); }
  /// a < b ? 0 : x
  static Float zero_where_less(Float a, Float b, Float x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ), x);
  }
  /// a < b ? x : otherwise
  static Float select_less(Float a, Float b, Float x, Float otherwise) {
    return _mm512_mask_mov_ps(otherwise, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), x);
  }
  static Float keep_first(std::int64_t n, Float x, Float otherwise) { return _mm512_mask_mov_ps(otherwise, first(n), x); }

  static float sum(Float x) { return _mm512_reduce_add_ps(x); }
  static float largest(Float x) { return _mm512_reduce_max_ps(x); }

  // ---- 16 integers of 32 bits, or the bytes that they consist of
  using Int = __m512i;
  static Int zero_int() { return _mm512_setzero_si512(); }
  static Int set_int(std::int32_t value) { return _mm512_set1_epi32(value); }
  static Int load_int(const std::byte* p) { return _mm512_loadu_si512(p); }
  static void store_int(std::byte* p, Int x) { _mm512_storeu_si512(p, x); }
  /// Keeps x in its register: gcc 12 would load codes again for each row. Tiles of 3 rows and 4 panels reach 80 % of the
  /// VNNI peak instead of 48 % (Zen 4).
  static void hold(Int& x) { asm("" : "+v"(x)); }
  /// Stores the nearest integers as signed bytes. Requires: they fit.
  static void store_codes(std::byte* p, Float x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  }
  static Int add_int(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Float to_float(Int x) { return _mm512_cvtepi32_ps(x); }
  static Int low_nibbles(Int x) { return _mm512_and_si512(x, _mm512_set1_epi8(0x0f)); }
  static Int high_nibbles(Int x) { return low_nibbles(_mm512_srli_epi16(x, 4)); }
  /// table[byte] for each byte of x, all below 16.
  static Int look_up(const std::uint8_t (&table)[16], Int x) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), x);
  }
  /// table[byte] for 16 bytes.
  static Float look_up(const float* table, const std::byte* bytes) {
    const __m512i places = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    return _mm512_i32gather_ps(places, table, sizeof(float));
  }
  static Int shift_right(Int x, int n) { return reinterpret_cast<Int>(reinterpret_cast<__v16su>(x) >> n); }
  /// table[i], i being the low 4 bits of each lane.
  static Float pick(const float (&table)[16], Int x) { return _mm512_permutexvar_ps(x, _mm512_loadu_ps(table)); }
  /// Byte i of each lane, as a float.
  static Float byte_to_float(Int x, std::int64_t i) {
    const __m512i shifted = _mm512_srl_epi32(x, _mm_cvtsi64_si128(8 * i));
    return _mm512_cvtepi32_ps(_mm512_and_si512(shifted, _mm512_set1_epi32(0xff)));
  }
  static Int even_bytes(Int x) { return _mm512_and_si512(x, _mm512_set1_epi16(0xff)); }
  static Int odd_bytes(Int x) { return _mm512_srli_epi16(x, 8); }
  /// Sums of neighbouring products of 16-bit integers.
  static Int multiply_halves(Int a, Int b) { return _mm512_madd_epi16(a, b); }
  /// acc += multiply_halves(a, b), in registers for the reason given in VecAvx2.
  static void accumulate_halves(Int& acc, Int a, Int b) {
    Int product;
    asm("vpmaddwd %3, %2, %0\n\tvpaddd %0, %1, %1" : "=&v"(product), "+v"(acc) : "v"(a), "v"(b));
  }
  /// acc += sums of neighbouring products of unsigned and signed bytes, in 16 bits: sums of two products saturate, acc wraps
  /// around.
  static void accumulate_bytes(Int& acc, Int a, Int b) {
    Int product;
    asm("vpmaddubsw %3, %2, %0\n\tvpaddw %0, %1, %1" : "=&v"(product), "+v"(acc) : "v"(a), "v"(b));
  }
  static Int ones() { return _mm512_set1_epi16(1); }

 private:
  static Float widen(const I8*, __m128i codes) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)); }
  /// Widens through f16 with the same exponent bits, whose values are 2^8 times smaller there.
  static Float widen(const E4m3*, __m128i bits) {
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi8(0x7f));
    const __mmask16 is_nan = _mm_cmpeq_epi8_mask(magnitude, _mm_set1_epi8(0x7f));
    const __m256i wide = _mm256_cvtepi8_epi16(bits);  // all upper bits are copies of the sign
    const __m256i half = _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(static_cast<short>(0xbfff)));
    const Float value = _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256));
    return _mm512_mask_mov_ps(value, is_nan, _mm512_set1_ps(__builtin_nanf("")));
  }
  static Float widen(const E5m2*, __m128i bits) { return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(bits), 8)); }
  static Float widen(__m256i bits) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16)); }
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
