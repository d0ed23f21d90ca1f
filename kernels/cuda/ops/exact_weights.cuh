// SPDX-License-Identifier: Apache-2.0
// Weights without their scales, exactly in bf16: code - off, an e4m3 number, or the number of a codebook rounded to bf16.
// The scales are applied to the sums of units (MatrixLayout::unit).
#pragma once

#include <cuda_bf16.h>

#include <bit>
#include <cmath>

#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/ops/fragments.cuh"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// How weights are stored; a unit has kUnitSteps * 16 of k.
template <Storage kStorageOf, ScaleKind kScalesOf, bool kHasBookOf, int kUnitStepsOf>
struct WeightForm {
  static constexpr Storage kStorage = kStorageOf;
  static constexpr ScaleKind kScales = kScalesOf;
  static constexpr bool kHasBook = kHasBookOf;
  static constexpr int kUnitSteps = kUnitStepsOf;
  static constexpr bool kHasCodes = kStorage != Storage::bf16;
  static constexpr int kStepBytes = kStorage == Storage::bf16 ? 512 : kStorage == Storage::code4 ? 128 : 256;
  /// Steps whose weights of a thread are 16 adjacent bytes.
  static constexpr int kVectorSteps = 512 / kStepBytes;
  /// Scales of a tile for one unit. Units: bytes.
  static constexpr int kScaleBytes = kTile * scale_bytes(kScales);
  /// True if the sum of a unit's x is needed.
  static constexpr bool kHasOffset = kScales == ScaleKind::zero || kScales == ScaleKind::minimum;
};

/// Constants with which codes become bf16, two in 32 bits.
struct CodeConstants {
  std::uint32_t minus = 0;           ///< 4 bits: 128 + off
  std::uint32_t mask = 0, flip = 0;  ///< 8 bits: bits of a sign-extended code that choose what is subtracted
  std::uint32_t book[8] = {};        ///< codebook in bf16
};

inline std::uint32_t bf16_bits(float number) {
  const __nv_bfloat16_raw raw = __float2bfloat16_rn(number);
  return raw.x;
}

/// Requires: `off` is 0 or 128 for codes of 8 bits, and an integer from 0 to 128 for codes of 4 bits without a codebook.
inline CodeConstants code_constants(const StoredMatrix& matrix) {
  CodeConstants constants;
  const auto twice = [](std::uint32_t half) { return half | half << 16; };
  if (matrix.layout.storage == Storage::code8) {
    LATHE_CHECK(matrix.off == 0 || matrix.off == 128);
    constants.mask = twice(matrix.off == 0 ? 0x4300U : 0x0080U);
    constants.flip = twice(matrix.off == 0 ? 0x4300U : 0x4380U);
  } else if (matrix.layout.storage == Storage::code4 && !matrix.has_book) {
    LATHE_CHECK(matrix.off >= 0 && matrix.off <= 128 && matrix.off == std::floor(matrix.off));
    constants.minus = twice(bf16_bits(128 + matrix.off));
  }
  for (int i = 0; i < 8; ++i) constants.book[i] = bf16_bits(matrix.book[2 * i]) | bf16_bits(matrix.book[2 * i + 1]) << 16;
  return constants;
}

__device__ inline std::uint32_t minus_bf16(std::uint32_t a, std::uint32_t b) {
  std::uint32_t difference = 0;
  asm("sub.rn.bf16x2 %0, %1, %2;\n" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

/// Table of the pairs of a codebook: entry i has numbers i % 16 and i / 16, once for each thread of a warp, so that no two
/// threads read from the same bank.
inline constexpr int kPairTableBytes = 256 * kWarp * 4;
__device__ inline void fill_pair_table(std::uint32_t* table, const CodeConstants& constants, int n_threads) {
  const auto number = [&](int code) {
    std::uint32_t two = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) two = code / 2 == i ? constants.book[i] : two;
    return code % 2 == 0 ? two & 0xffffU : two >> 16;
  };
  for (int i = threadIdx.x; i < 256 * kWarp / 4; i += n_threads) {
    const int entry = i / (kWarp / 4);
    const std::uint32_t pair = number(entry % 16) | number(entry / 16) << 16;
    reinterpret_cast<uint4*>(table)[i] = make_uint4(pair, pair, pair, pair);
  }
}
template <int kThreads>
__device__ void fill_pair_table(std::uint32_t* table, const CodeConstants& constants) {
  fill_pair_table(table, constants, kThreads);
}

// Bits of 128 in bf16: with a number below 128 in the lowest bits they are 128 plus that number.
inline constexpr std::uint32_t kTwice128 = 0x43004300U;
/// (bits & kMask) | kTwice128 in one instruction, which the compiler makes two because it takes one immediate number.
template <std::uint32_t kMask>
__device__ inline std::uint32_t above_128(std::uint32_t bits) {
  std::uint32_t numbers = 0;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;\n" : "=r"(numbers) : "r"(bits), "n"(kMask), "r"(kTwice128));
  return numbers;
}

/// The fragment of one step of eight codes of 4 bits.
__device__ inline void nibbles_to_bf16(std::uint32_t (&a)[4], std::uint32_t eight, const CodeConstants& constants) {
#pragma unroll
  for (int j = 0; j < 4; ++j) a[j] = minus_bf16(above_128<0x000f000fU>(eight >> (4 * j)), constants.minus);
}

/// The same through a table of pairs; codes j and j + 4 of `eight` are a pair. `table`: that of this thread.
__device__ inline void nibbles_by_table(std::uint32_t (&a)[4], std::uint32_t eight, const std::uint32_t* table) {
  constexpr std::uint32_t kLow = 0x0f0f0f0fU;
  const std::uint32_t even = (eight & kLow) | (eight >> 12 & ~kLow);      // pairs 0 and 2 in two bytes
  const std::uint32_t odd = (eight >> 4 & kLow) | (eight >> 16 & ~kLow);  // pairs 1 and 3
  a[0] = table[(even & 0xffU) * kWarp];
  a[1] = table[(odd & 0xffU) * kWarp];
  a[2] = table[(even >> 8 & 0xffU) * kWarp];
  a[3] = table[(odd >> 8 & 0xffU) * kWarp];
}

/// Two of the four codes of 8 bits, from the code at 2 kPair.
template <int kPair>
__device__ inline std::uint32_t bytes_to_bf16(std::uint32_t four, const CodeConstants& constants) {
  // Each code with its highest bit repeated above it. 128 + its lower seven bits is exact in bf16, and so is the difference
  // to 0, 128 or 256, depending on the highest bit.
  std::uint32_t two = 0;
  asm("prmt.b32 %0, %1, 0, %2;\n" : "=r"(two) : "r"(four), "n"(kPair == 0 ? 0x9180 : 0xb3a2));  // __byte_perm() has no signs
  return minus_bf16(above_128<0x007f007fU>(two), (two & constants.mask) ^ constants.flip);
}

template <int kPair>
__device__ inline std::uint32_t e4m3_to_bf16(std::uint32_t four) {
  const auto two = static_cast<__nv_fp8x2_storage_t>(kPair == 0 ? four & 0xffffU : four >> 16);
  const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(two, __NV_E4M3);
  const float2 numbers = __half22float2(*reinterpret_cast<const __half2*>(&halves));
  return packed(numbers.x, numbers.y);
}

/// The fragment of step kStepOf of a vector of F::kVectorSteps steps.
template <class F, int kStepOf>
__device__ inline void exact_fragment(std::uint32_t (&a)[4], const uint4& vector, const CodeConstants& constants,
                                      const std::uint32_t* table) {
  if constexpr (F::kStorage == Storage::bf16) {
    a[0] = vector.x, a[1] = vector.y, a[2] = vector.z, a[3] = vector.w;
  } else if constexpr (F::kStorage == Storage::code4) {
    const std::uint32_t eight = kStepOf == 0 ? vector.x : kStepOf == 1 ? vector.y : kStepOf == 2 ? vector.z : vector.w;
    if constexpr (F::kHasBook) nibbles_by_table(a, eight, table);
    else nibbles_to_bf16(a, eight, constants);
  } else {
    const std::uint32_t first = kStepOf == 0 ? vector.x : vector.z, second = kStepOf == 0 ? vector.y : vector.w;
    if constexpr (F::kStorage == Storage::e4m3) {
      a[0] = e4m3_to_bf16<0>(first), a[1] = e4m3_to_bf16<1>(first);
      a[2] = e4m3_to_bf16<0>(second), a[3] = e4m3_to_bf16<1>(second);
    } else {
      a[0] = bytes_to_bf16<0>(first, constants), a[1] = bytes_to_bf16<1>(first, constants);
      a[2] = bytes_to_bf16<0>(second, constants), a[3] = bytes_to_bf16<1>(second, constants);
    }
  }
}

/// Adds the sum of a unit to a total. `x_sum`: the sum of the unit's x; unused without an offset.
template <ScaleKind kScales>
__device__ inline float total_with(float total, float sum, float x_sum, float scale, float offset) {
  if constexpr (kScales == ScaleKind::none) return total + sum;
  if constexpr (kScales == ScaleKind::zero) return fmaf(scale, fmaf(-offset, x_sum, sum), total);
  if constexpr (kScales == ScaleKind::minimum) return fmaf(offset, x_sum, fmaf(scale, sum, total));
  return fmaf(scale, sum, total);
}

/// Calls body with the WeightForm of a matrix in tiles.
template <class Body>
void for_forms(const StoredMatrix& matrix, const Body& body) {
  const MatrixLayout& layout = matrix.layout;
  const auto with_unit = [&]<Storage kStorage, ScaleKind kScales, bool kHasBook, int... kUnitSteps>() {
    const bool is_there =
        ((layout.unit() == kUnitSteps * kStep ? (body(WeightForm<kStorage, kScales, kHasBook, kUnitSteps>()), true)
                                              : false) ||
         ...);
    LATHE_CHECK(is_there);
  };
  using enum ScaleKind;
  if (layout.storage == Storage::bf16) return with_unit.template operator()<Storage::bf16, none, false, 16>();
  if (layout.storage == Storage::e4m3 && layout.scales == single)
    return with_unit.template operator()<Storage::e4m3, single, false, 8, 16>();
  if (layout.storage == Storage::code8) {
    if (layout.scales == half) return with_unit.template operator()<Storage::code8, half, false, 2, 4, 8>();
    if (layout.scales == single) return with_unit.template operator()<Storage::code8, single, false, 1, 16>();
    if (layout.scales == zero) return with_unit.template operator()<Storage::code8, zero, false, 2, 4, 8>();
    if (layout.scales == minimum) return with_unit.template operator()<Storage::code8, minimum, false, 1, 2>();
  }
  if (layout.storage == Storage::code4) {
    if (matrix.has_book && layout.scales == single)
      return with_unit.template operator()<Storage::code4, single, true, 2, 4>();
    LATHE_CHECK(!matrix.has_book);
    if (layout.scales == half) return with_unit.template operator()<Storage::code4, half, false, 2, 4, 8>();
    if (layout.scales == zero) return with_unit.template operator()<Storage::code4, zero, false, 2, 4, 8>();
    if (layout.scales == minimum) return with_unit.template operator()<Storage::code4, minimum, false, 1, 2>();
  }
  LATHE_CHECK(false);
}

}  // namespace lathe::kernels::cuda
