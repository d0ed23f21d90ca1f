// SPDX-License-Identifier: Apache-2.0
// Element types of tensors: their sizes, their names, and conversion of one value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe::kernels {

enum class Dtype : std::uint8_t { f32, f16, bf16, f8_e4m3, f8_e5m2, i8, u8, i32, i64 };

/// Units: bytes of one element.
constexpr std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
    case Dtype::i32: return 4;
    case Dtype::f16:
    case Dtype::bf16: return 2;
    case Dtype::f8_e4m3:
    case Dtype::f8_e5m2:
    case Dtype::i8:
    case Dtype::u8: return 1;
    case Dtype::i64: return 8;
  }
  return 0;
}

/// The name that PyTorch and vLLM use: "float32", "bfloat16"...
constexpr std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return "float32";
    case Dtype::f16: return "float16";
    case Dtype::bf16: return "bfloat16";
    case Dtype::f8_e4m3: return "fp8_e4m3";
    case Dtype::f8_e5m2: return "fp8_e5m2";
    case Dtype::i8: return "int8";
    case Dtype::u8: return "uint8";
    case Dtype::i32: return "int32";
    case Dtype::i64: return "int64";
  }
  return "?";
}

/// Types of numbers in which a model is computed and stored without codes.
constexpr Dtype kFloatingDtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16};
/// Types of a KV cache.
constexpr Dtype kKvDtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i8, Dtype::f8_e4m3, Dtype::f8_e5m2};

/// True for floats of 16 bits and more.
constexpr bool is_floating(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16; }

inline float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Rounds to nearest, ties to even; NaN stays NaN.
inline std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float f16_to_f32(std::uint16_t bits);
/// Rounds to nearest, ties to even; overflow gives infinity.
std::uint16_t f32_to_f16(float value);

/// 8-bit floats. e4m3 has no infinity and its largest value is 448; e5m2's largest finite value is 57344.
/// Source: OCP 8-bit Floating Point Specification 1.0, Open Compute Project, 2023.
float e4m3_to_f32(std::uint8_t bits);
float e5m2_to_f32(std::uint8_t bits);
/// Round to nearest, ties to even; a value that is too large, infinity too, becomes the largest finite value; NaN stays NaN.
std::uint8_t f32_to_e4m3(float value);
std::uint8_t f32_to_e5m2(float value);

}  // namespace lathe::kernels
